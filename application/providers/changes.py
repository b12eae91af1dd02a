"""What a person makes of a provider, decided once its row is locked; pure.

none ───configure──► enabled, without a credential        enabled ◄─enable── disabled
any ────configure──► another adapter                      enabled ─disable─► disabled
any ────set────────► another credential, address and all
any ────rotate─────► another token for the same account
any ────reseal─────► the same secrets under the active key

Each of them is nothing when it is so already.  What was asked of a provider must be
looked up at the same one, or it would seem not to have been bought: its adapter and
the address of its credential change only after it has been disabled for as long as a
call may go on, and while nothing that was asked of it is open.
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from application.errors import (
    CredentialUnreadableError,
    NotFoundError,
    ProviderInUseError,
)
from application.providers.book import Decided, Provider, Standing
from application.providers.credential import Credential
from application.providers.opening import credential_in, secret_in
from application.providers.sealing import Seals
from domain.operators.events import (
    CredentialResealed,
    CredentialRotated,
    CredentialSet,
    ProviderConfigured,
    ProviderDisabled,
    ProviderEnabled,
)

WHAT: Final = "provider"

REST: Final = timedelta(seconds=150)
"""The lease of a job that buys: whoever has found the provider before it was disabled
sends nothing any more."""


@dataclass(frozen=True, slots=True)
class Configure:
    """Make the provider, or give it another adapter."""

    tenant_id: str
    slug: str
    adapter: str

    def __call__(self, standing: Standing | None) -> Decided | None:
        """Return the change, or None: it has that adapter.

        Raises:
            ProviderInUseError: something may be at the old one.
        """
        event = ProviderConfigured(provider=self.slug, adapter=self.adapter)
        if standing is None:
            provider = Provider(
                tenant_id=self.tenant_id,
                slug=self.slug,
                adapter=self.adapter,
                is_enabled=True,
            )
            return Decided(after=provider, event=event)
        if standing.provider.adapter == self.adapter:
            return None
        _require_out_of_use(standing, "adapter")
        after = replace(standing.provider, adapter=self.adapter)
        return Decided(after=after, event=event)


@dataclass(frozen=True, slots=True)
class Switch:
    """Enable or disable the provider."""

    slug: str
    is_enabled: bool

    def __call__(self, standing: Standing | None) -> Decided | None:
        """Return the change, or None: it is so.

        Raises:
            NotFoundError: there is no such provider.
        """
        provider = _there(standing, self.slug).provider
        if provider.is_enabled == self.is_enabled:
            return None
        event = (
            ProviderEnabled(provider=self.slug)
            if self.is_enabled
            else ProviderDisabled(provider=self.slug)
        )
        return Decided(after=replace(provider, is_enabled=self.is_enabled), event=event)


@dataclass(frozen=True, slots=True)
class SetCredential:
    """Give the provider a credential, whole."""

    slug: str
    credential: Credential
    seals: Seals

    def __call__(self, standing: Standing | None) -> Decided | None:
        """Return the change, or None: it has that one, under the active key.

        Raises:
            NotFoundError: there is no such provider.
            ProviderInUseError: something may be at the old address.
        """
        standing = _there(standing, self.slug)
        provider = standing.provider
        if provider.base_url not in {None, self.credential.base_url}:
            _require_out_of_use(standing, "address")
        if _holds(provider, self.seals, self.credential):
            return None
        return Decided(
            after=_sealed(provider, self.credential, self.seals),
            event=CredentialSet(
                provider=self.slug,
                host=self.credential.host,
                currency=self.credential.currency,
                key=self.seals.active,
            ),
        )


@dataclass(frozen=True, slots=True)
class Rotate:
    """Give the provider another token for the same account."""

    slug: str
    token: str
    seals: Seals

    def __call__(self, standing: Standing | None) -> Decided | None:
        """Return the change, or None: it has that one, under the active key.

        Raises:
            NotFoundError: there is no such provider.
            CredentialUnreadableError: what the token belongs to cannot be read.
        """
        provider = _there(standing, self.slug).provider
        found = credential_in(provider, self.seals)
        if isinstance(found, str):
            raise CredentialUnreadableError(self.slug, found)
        credential = replace(found, token=self.token)
        if _holds(provider, self.seals, credential):
            return None
        return Decided(
            after=_sealed(provider, credential, self.seals),
            event=CredentialRotated(provider=self.slug, key=self.seals.active),
        )


@dataclass(frozen=True, slots=True)
class Reseal:
    """Seal the credential by the active key; the secrets stay as they are."""

    slug: str
    seals: Seals

    def __call__(self, standing: Standing | None) -> Decided | None:
        """Return the change, or None: the active key seals it, or there is none.

        Raises:
            NotFoundError: there is no such provider.
            CredentialUnreadableError: it does not open.
        """
        provider = _there(standing, self.slug).provider
        sealed = provider.sealed
        if sealed is None or sealed.key == self.seals.active:
            return None
        # Byte by byte: it may be another version's, with members of its own.
        secret = secret_in(provider, self.seals)
        if isinstance(secret, str):
            raise CredentialUnreadableError(self.slug, secret)
        return Decided(
            after=replace(provider, sealed=self.seals.seal(secret, provider.place)),
            event=CredentialResealed(
                provider=self.slug, key=self.seals.active, before=sealed.key
            ),
        )


def _there(standing: Standing | None, slug: str) -> Standing:
    if standing is None:
        raise NotFoundError(WHAT, slug)
    return standing


def _require_out_of_use(standing: Standing, what: str) -> None:
    """Refuse to change where a provider is while anything may be asked of it there."""
    slug = standing.provider.slug
    rested = standing.disabled_for
    if standing.provider.sealed is None:
        return  # nobody could ask it anything yet
    if rested is None:
        reason = f"disable it first (`counterfoil providers disable {slug}`)"
    elif standing.is_quarantined:
        reason = "the restore guard is engaged: `counterfoil restore-guard status`"
    elif standing.n_open:
        reason = f"{_told(standing.n_open)} not over: wait for that"
    elif standing.is_named and rested < REST:
        left = math.ceil((REST - rested).total_seconds())
        reason = f"a call that began before it was disabled may go on: wait {left} s"
    else:
        return
    raise ProviderInUseError(slug, what, reason)


def _told(n_open: int) -> str:
    if n_open == 1:
        return "one delivery that it was asked for is"
    return f"{n_open} deliveries that it was asked for are"


def _holds(provider: Provider, seals: Seals, credential: Credential) -> bool:
    if provider.sealed is None or provider.sealed.key != seals.active:
        return False
    is_told = (provider.base_url, provider.currency) == (
        credential.base_url,
        credential.currency,
    )
    return is_told and seals.open(provider.sealed, provider.place) == (
        credential.written()
    )


def _sealed(provider: Provider, credential: Credential, seals: Seals) -> Provider:
    return replace(
        provider,
        base_url=credential.base_url,
        currency=credential.currency,
        sealed=seals.seal(credential.written(), provider.place),
    )
