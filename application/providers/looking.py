"""Which providers and credentials there are, and which key seals which; no secret."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from application.providers.book import Provider, ProviderBook
from application.providers.opening import credential_in
from application.providers.sealing import SealedBodies, Seals
from domain.event import Instant


class ProviderLine(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One provider."""

    tenant_id: str
    provider: str
    adapter: str
    is_enabled: bool
    host: str | None = None
    currency: str | None = None
    problem: str | None = None
    """Why nothing is bought of it; None: nothing here keeps from it."""


class CredentialLine(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One sealed credential."""

    tenant_id: str
    provider: str
    key: str
    """The id of the key that seals it."""
    given_at: Instant | None
    """When a person gave its secrets."""
    has_webhook_secret: bool | None = None
    """None: it does not open here."""
    problem: str | None = None
    """Why it cannot be used here."""


class KeyLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One key, by its id."""

    key: str
    is_active: bool
    is_here: bool
    """Whether COUNTERFOIL_DATA_ENCRYPTION_KEYS has it."""
    seals: int
    """How many credentials it seals."""
    bodies: int
    """How many bodies of callbacks it seals."""
    can_be_dropped: bool
    """Whether it is here for nothing."""


class CredentialPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All keys and all that they seal."""

    keys: tuple[KeyLine, ...]
    credentials: tuple[CredentialLine, ...]


@dataclass(frozen=True, slots=True)
class LookAtProviders:
    """Tells how providers are configured."""

    book: ProviderBook
    bodies: SealedBodies
    seals: Seals | None

    def providers(self) -> tuple[ProviderLine, ...]:
        """Return all providers, by tenant and name.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        return tuple(self._provider(each) for each in self.book.all())

    def credentials(self) -> CredentialPage:
        """Return all keys, the active one first, and all credentials.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        found = [each for each in self.book.all() if each.sealed is not None]
        uses = Counter(each.sealed.key for each in found if each.sealed is not None)
        bodies = self.bodies.counts()
        known = uses.keys() | bodies.keys()
        here = () if self.seals is None else self.seals.ids
        return CredentialPage(
            keys=tuple(
                KeyLine(
                    key=key,
                    is_active=key == next(iter(here), None),
                    is_here=key in here,
                    seals=uses[key],
                    bodies=bodies.get(key, 0),
                    can_be_dropped=key in here[1:] and key not in known,
                )
                for key in (*here, *sorted(known - set(here)))
            ),
            credentials=tuple(self._credential(each) for each in found),
        )

    def _provider(self, provider: Provider) -> ProviderLine:
        found = credential_in(provider, self.seals)
        problem = f"its credential {found}" if isinstance(found, str) else None
        return ProviderLine(
            tenant_id=provider.tenant_id,
            provider=provider.slug,
            adapter=provider.adapter,
            is_enabled=provider.is_enabled,
            host=urlsplit(provider.base_url).netloc if provider.base_url else None,
            currency=provider.currency,
            problem=problem if provider.is_enabled else "it is disabled",
        )

    def _credential(self, provider: Provider) -> CredentialLine:
        found = credential_in(provider, self.seals)
        line = CredentialLine(
            tenant_id=provider.tenant_id,
            provider=provider.slug,
            key="" if provider.sealed is None else provider.sealed.key,
            given_at=provider.given_at,
        )
        if isinstance(found, str):
            return replace(line, problem=f"it {found}")
        return replace(line, has_webhook_secret=found.webhook_secret is not None)
