"""Configure providers of goods, with a reason, on record; refusals are recorded too."""

from collections.abc import Collection
from dataclasses import dataclass
from re import compile as pattern
from typing import Final

import msgspec

from application.errors import ApplicationError, NoKeyError
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals
from application.operators.taken import Deed, Telling
from application.providers.book import Decide, Done, ProviderBook
from application.providers.changes import (
    WHAT,
    Configure,
    Reseal,
    Rotate,
    SetCredential,
    Switch,
)
from application.providers.credential import Credential
from application.providers.looking import LookAtProviders
from application.providers.sealing import SealedBodies, Seals, Taken
from application.unit import Ids, UnitOfWork
from domain.members import invalid
from domain.operators import actions
from domain.operators.events import ActionRefused

_SLUG: Final = pattern("[a-z][a-z0-9_-]{1,31}")

RESEAL: Final = "reseal_credential"

_NAMES: Final = {
    "configure_provider": actions.PROVIDER_CONFIGURED,
    "enable_provider": actions.PROVIDER_ENABLED,
    "disable_provider": actions.PROVIDER_DISABLED,
    "set_credential": actions.CREDENTIAL_SET,
    "rotate_credential": actions.CREDENTIAL_ROTATED,
    RESEAL: actions.CREDENTIAL_RESEALED,
}
"""What the audit calls what was done, by what was asked for."""


class Configured(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A provider after a person has changed it."""

    tenant_id: str
    provider: str
    adapter: str
    is_enabled: bool
    key: str | None
    """The id of the key that seals its credential; None: it has none."""
    events: tuple[str, ...]
    """Tags of the events that were written; none: it was so already."""
    position: int
    """A reader at this position of the log sees them, or that it was so already."""


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A credential that could not be sealed again, since it does not open."""

    tenant_id: str
    provider: str
    problem: str


class Resealed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of everything that the active key did not seal."""

    key: str
    """The id of the active key."""
    resealed: tuple[Configured, ...]
    unreadable: tuple[Unreadable, ...]
    bodies: Taken
    """What became of the bodies of callbacks."""

    @property
    def is_whole(self) -> bool:
        """Whether the active key seals everything now."""
        return not self.unreadable and not self.bodies.n_unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureProviders:
    """Changes providers on behalf of people."""

    book: ProviderBook
    bodies: SealedBodies
    seals: Seals | None
    adapters: Collection[str]
    """The names of the adapters of this version."""
    units: UnitOfWork
    ids: Ids

    @property
    def look(self) -> LookAtProviders:
        """What tells how they are configured."""
        return LookAtProviders(self.book, self.bodies, self.seals)

    def configure(
        self, tenant_id: str, slug: str, adapter: str, instruction: Instruction
    ) -> Configured:
        """Return the provider, which has that adapter.

        Raises:
            InvalidRequestError: the name is none, or there is no such adapter.
            ProviderInUseError: it has another one, and something may be asked of it.
            DatabaseUnavailableError: nothing is known to be done.
        """
        if _SLUG.fullmatch(slug) is None:
            invalid(WHAT, "2 to 32 of a-z, 0-9, - and _, a letter first")
        if adapter not in self.adapters:
            invalid("adapter", f"one of {', '.join(sorted(self.adapters))}")
        change = Configure(tenant_id, slug, adapter)
        return self._changed("configure_provider", tenant_id, slug, change, instruction)

    def enable(self, tenant_id: str, slug: str, instruction: Instruction) -> Configured:
        """Return the provider, of which goods are bought.

        Raises:
            NotFoundError: there is no such provider.
            DatabaseUnavailableError: nothing is known to be done.
        """
        change = Switch(slug, is_enabled=True)
        return self._changed("enable_provider", tenant_id, slug, change, instruction)

    def disable(
        self, tenant_id: str, slug: str, instruction: Instruction
    ) -> Configured:
        """Return the provider, of which nothing is bought any more.

        Raises:
            NotFoundError: there is no such provider.
            DatabaseUnavailableError: nothing is known to be done.
        """
        change = Switch(slug, is_enabled=False)
        return self._changed("disable_provider", tenant_id, slug, change, instruction)

    def set_credential(
        self,
        tenant_id: str,
        slug: str,
        credential: Credential,
        instruction: Instruction,
    ) -> Configured:
        """Return the provider, which the next call reaches by that credential.

        Raises:
            NoKeyError: there is nothing to seal it with.
            NotFoundError: there is no such provider.
            ProviderInUseError: its address would change while it is in use.
            DatabaseUnavailableError: nothing is known to be done.
        """
        change = SetCredential(slug, credential, self._keys())
        return self._changed("set_credential", tenant_id, slug, change, instruction)

    def rotate_credential(
        self, tenant_id: str, slug: str, token: str, instruction: Instruction
    ) -> Configured:
        """Return the provider, which the next call asks with that token.

        Raises:
            NoKeyError: there is nothing to seal it with.
            NotFoundError: there is no such provider.
            CredentialUnreadableError: it has no credential that could be read.
            DatabaseUnavailableError: nothing is known to be done.
        """
        change = Rotate(slug, token, self._keys())
        return self._changed("rotate_credential", tenant_id, slug, change, instruction)

    def reseal(self, instruction: Instruction) -> Resealed:
        """Return what became of all that another key seals, credentials one by one.

        Each is committed for itself: whoever stops in between goes on by asking again.
        Bodies of callbacks are taken over too, in pages, without an event for each.

        Raises:
            NoKeyError: there is nothing to seal them with.
            DatabaseUnavailableError: what is done so far stays done.
        """
        seals = self._keys()
        done: list[Configured] = []
        unreadable: list[Unreadable] = []
        for provider in self.book.all():
            sealed = provider.sealed
            if sealed is None or sealed.key == seals.active:
                continue
            tenant_id, slug = provider.tenant_id, provider.slug
            change = Reseal(slug, seals)
            try:
                done.append(self._changed(RESEAL, tenant_id, slug, change, instruction))
            except ApplicationError as error:
                unreadable.append(
                    Unreadable(tenant_id=tenant_id, provider=slug, problem=str(error))
                )
        return Resealed(
            key=seals.active,
            resealed=tuple(done),
            unreadable=tuple(unreadable),
            bodies=self.bodies.take_over(seals),
        )

    def _keys(self) -> Seals:
        if self.seals is None:
            raise NoKeyError
        return self.seals

    def _changed(
        self,
        action: str,
        tenant_id: str,
        slug: str,
        change: Decide,
        instruction: Instruction,
    ) -> Configured:
        target = as_given(f"{WHAT}:{slug}")
        deed = Deed(action=_NAMES[action], target_kind=WHAT, target=target)
        telling = Telling(deed, instruction.meta(target))
        try:
            done = self.book.change(tenant_id, slug, change, telling)
        except ApplicationError as error:
            refused = ActionRefused(action=action, target=target, code=error.code)
            about = About(tenant_id, target)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise
        return _told(tenant_id, slug, done)


def _told(tenant_id: str, slug: str, done: Done) -> Configured:
    after = done.after
    sealed = None if after is None else after.sealed
    return Configured(
        tenant_id=tenant_id,
        provider=slug,
        adapter="" if after is None else after.adapter,
        is_enabled=after is not None and after.is_enabled,
        key=None if sealed is None else sealed.key,
        events=() if done.event is None else (done.event.tag,),
        position=done.position,
    )
