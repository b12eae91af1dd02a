"""A callback arrives: recorded by its signature, once, and told to its delivery."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from application.callbacks import signature
from application.callbacks.callback import (
    ACCEPTED,
    CONTRADICTED,
    DUPLICATE,
    FAILED,
    IGNORED,
    INTERRUPTED,
    REJECTED,
    Callback,
    CallbackBook,
    Remarked,
    Told,
)
from application.callbacks.said import DELIVERED, ReadCallback, Unsaid
from application.callbacks.telling import Tell
from application.providers.book import Provider, ProviderBook
from application.providers.credential import Credential
from application.providers.opening import credential_in
from application.providers.sealing import Sealed, Seals
from application.unit import Ids, Once
from domain.event import Actor, Causation, Meta
from domain.operators.events import CallbackContradicted
from domain.text import stated

LARGEST_BODY_BYTES: Final = 64 * 1024

UNKNOWN_PROVIDER: Final = "unknown_provider"
UNCONFIGURED: Final = "provider_unconfigured"
NO_SECRET: Final = "no_webhook_secret"  # noqa: S105 - a code
BODY_TOO_LARGE: Final = "body_too_large"
EVENT_ID_REUSED: Final = "event_id_reused"

_NAME_CHARACTERS: Final = 128


class Receipt(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """What the provider is told, and a person may read."""

    callback_id: UUID
    status: str
    code: str | None = None
    delivery_id: UUID | None = None
    duplicate_of: UUID | None = None
    position: int = 0
    """Of the last event that it caused; 0: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCallback:
    """Takes callbacks, whichever way they come."""

    providers: ProviderBook
    seals: Seals | None
    callbacks: CallbackBook
    read: ReadCallback
    tell: Tell
    ids: Ids

    def __call__(
        self, tenant_id: str, slug: str, headers: Mapping[str, str], body: bytes
    ) -> Receipt:
        """Return what became of it; whatever it is, it is on record.

        Raises:
            DatabaseUnavailableError: it may have been told already; send it again.
        """
        tenant_id = stated(tenant_id, _NAME_CHARACTERS)
        slug = stated(slug, _NAME_CHARACTERS)
        provider = self.providers.find(tenant_id, slug)
        problem = self._problem(provider, headers, body)
        came = Callback(
            id=self.ids(),
            tenant_id=tenant_id,
            provider=slug,
            event_id=signature.event_id_of(headers),
            status=FAILED,
            code=INTERRUPTED,
            body_sha256=hashlib.sha256(body).digest(),
            body_bytes=len(body),
        )
        if problem is not None or provider is None or self.seals is None:
            return self._rejected(came, problem or UNCONFIGURED)
        sealed = self.seals.seal(body, came.place)
        return self._signed(came, sealed, provider, body)

    def _problem(
        self, provider: Provider | None, headers: Mapping[str, str], body: bytes
    ) -> str | None:
        """Return the code of what is wrong; None: the provider has signed it."""
        if provider is None:
            return UNKNOWN_PROVIDER
        credential = credential_in(provider, self.seals)
        if not isinstance(credential, Credential):
            return UNCONFIGURED
        if credential.webhook_secret is None:
            return NO_SECRET
        if len(body) > LARGEST_BODY_BYTES:
            return BODY_TOO_LARGE
        secret, now = credential.webhook_secret, self.callbacks.now()
        return signature.problem_of(headers, body, secret, now)

    def _rejected(self, came: Callback, code: str) -> Receipt:
        rejected = msgspec.structs.replace(came, status=REJECTED, code=code)
        self.callbacks.keep(rejected)
        return Receipt(callback_id=came.id, status=REJECTED, code=code)

    def _signed(
        self, came: Callback, sealed: Sealed, provider: Provider, body: bytes
    ) -> Receipt:
        kept = msgspec.structs.replace(came, sealed=sealed)
        known = self.callbacks.keep(kept)
        if known is None:
            return self.follow(kept, provider, body)
        if known.body_sha256 != came.body_sha256:
            return self._rejected(came, EVENT_ID_REUSED)
        if known.status != ACCEPTED:
            # Nothing followed from it so far, for all that is known.
            return self.follow(known, provider, body)
        again = msgspec.structs.replace(
            came, status=DUPLICATE, code=None, kind=known.kind,
            delivery=known.delivery, duplicate_of=known.id,
        )  # fmt: skip
        self.callbacks.keep(again)
        return Receipt(
            callback_id=again.id,
            status=DUPLICATE,
            delivery_id=again.delivery,
            duplicate_of=known.id,
        )

    def follow(
        self,
        callback: Callback,
        provider: Provider,
        body: bytes,
        also: Callable[[Told], Remarked] | None = None,
        once: Once | None = None,
    ) -> Receipt:
        """Return what followed from a kept one, which is marked with it.

        `also` is recorded with that: what a person did, by what became of it; `once`
        is the key under which they have asked for it.

        Raises:
            AnsweredBeforeError: see `commit_once`, and the others.
            DatabaseUnavailableError: it may have been told already.
        """
        said = self.read(provider.adapter, body)
        if isinstance(said, Unsaid):
            status = FAILED if said.is_known else IGNORED
            told = Told(status=status, code=said.code)
        else:
            told = self.tell(callback, said)
        remarks = () if also is None else (also(told),)
        evidence = _evidence(callback, told)
        marked = self.callbacks.mark(callback, told, (*remarks, *evidence), once)
        return Receipt(
            callback_id=marked.id,
            status=marked.status,
            code=marked.code,
            delivery_id=marked.delivery,
            position=told.position,
        )


def _evidence(callback: Callback, told: Told) -> tuple[Remarked, ...]:
    """Return the fact that something was bought after all, for a person; said once."""
    if told.code != CONTRADICTED or callback.code == CONTRADICTED:
        return ()
    if told.delivery is None:
        return ()
    event = CallbackContradicted(
        provider=callback.provider,
        callback=callback.id,
        delivery=told.delivery,
        said=DELIVERED,
    )
    meta = Meta(
        actor=Actor(type="provider", id=callback.provider),
        correlation_id=f"callback:{callback.id}",
        causation=Causation(request_id=f"callback:{callback.id}"),
    )
    return (Remarked((event,), meta),)
