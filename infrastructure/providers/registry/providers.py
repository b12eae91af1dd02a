"""Finds a provider by its slug: its row and its credential as they are at that moment.

Nothing is kept between two calls, so a rotation takes effect on the next one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from application.goods.port import GoodsProvider, Unconfigured
from application.providers.book import Provider
from application.providers.credential import Credential
from application.providers.opening import credential_in
from application.providers.sealing import Seals
from infrastructure.postgres.batch_store import Connections
from infrastructure.providers.registry.rows import read_provider

UNCONFIGURED: Final = "provider_unconfigured"

type Build = Callable[[str, Credential], GoodsProvider | None]
"""Makes a provider of the adapter of that name; None: there is no such adapter."""


@dataclass(frozen=True, slots=True)
class PostgresProviders:
    """See `Providers`."""

    connections: Connections
    seals: Seals | None
    """None: there is no key, so nothing can be opened."""
    build: Build

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        """See `Providers.find`.

        Raises:
            DatabaseUnavailableError: nobody knows how it is configured.
        """
        with self.connections.connection() as connection:
            provider = read_provider(connection, tenant_id, slug)
        if provider is None:
            return _unconfigured(f"there is no provider {slug}")
        built = self._built(provider)
        if provider.is_enabled:
            return _unconfigured(built) if isinstance(built, str) else built
        asked = None if isinstance(built, str) else built
        return _unconfigured(f"provider {slug} is disabled", asked)

    def _built(self, provider: Provider) -> GoodsProvider | str:
        credential = credential_in(provider, self.seals)
        if isinstance(credential, str):
            return f"the credential of provider {provider.slug} {credential}"
        built = self.build(provider.adapter, credential)
        if built is None:
            return f"this version has no adapter {provider.adapter}"
        return built


def _unconfigured(detail: str, asked: GoodsProvider | None = None) -> Unconfigured:
    return Unconfigured(UNCONFIGURED, detail, asked)
