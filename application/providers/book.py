"""The rows of providers, and how a change of one is committed with its event."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final, Protocol

import msgspec

from application.operators.taken import Telling
from application.providers.sealing import Place, Sealed
from domain.event import Instant, JsonObject
from domain.operators.events import (
    CredentialResealed,
    CredentialRotated,
    CredentialSet,
    ProviderConfigured,
    ProviderDisabled,
    ProviderEnabled,
)

TABLE: Final = "goods_providers"
COLUMN: Final = "credential"

type ProviderEvent = (
    ProviderConfigured
    | ProviderEnabled
    | ProviderDisabled
    | CredentialSet
    | CredentialRotated
    | CredentialResealed
)


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One row."""

    tenant_id: str
    slug: str
    adapter: str
    is_enabled: bool
    base_url: str | None = None
    """As it is sealed with the token; None: there is no credential."""
    currency: str | None = None
    """As it is sealed with the token."""
    sealed: Sealed | None = None
    given_at: Instant | None = None
    """When its secrets were given last."""

    def figures(self) -> JsonObject:
        """Return what the audit shows of it; nothing that is sealed, no address."""
        return {
            "adapter": self.adapter,
            "is_enabled": self.is_enabled,
            "currency": self.currency,
            "key": None if self.sealed is None else self.sealed.key,
        }

    @property
    def place(self) -> Place:
        """Where its credential opens."""
        return Place(tenant=self.tenant_id, table=TABLE, column=COLUMN, row=self.slug)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A provider as it was found under its lock."""

    provider: Provider
    n_open: int
    """Deliveries that it was or may have been asked for, and that are not over."""
    is_named: bool
    """Whether any delivery is one of its."""
    disabled_for: timedelta | None
    """How long it has sold nothing; None: it is enabled."""
    is_quarantined: bool
    """Whether nobody knows what was asked of it: the database may be an older one."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What a change makes of a provider, and the fact that is recorded beside it."""

    after: Provider
    event: ProviderEvent


type Decide = Callable[[Standing | None], Decided | None]
"""What is to be done to a locked provider (None: there is none); may refuse by raising.
None: it is so already."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What a change has written, and the provider after it."""

    after: Provider | None
    event: ProviderEvent | None
    position: int
    """Of the record, which is behind the event."""


class ProviderBook(Protocol):
    """Keeps providers."""

    def change(
        self, tenant_id: str, slug: str, decide: Decide, telling: Telling
    ) -> Done:
        """Return what was done to one, committed with its record.

        Also when it was so already.

        Raises:
            CounterfoilError: what `decide` raised; nothing is written.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def find(self, tenant_id: str, slug: str) -> Provider | None:
        """Return one provider as it is now.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        ...

    def all(self) -> tuple[Provider, ...]:
        """Return all of them, by tenant and slug.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        ...
