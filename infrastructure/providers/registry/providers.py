"""Finds a provider by its slug: its row and its credential as they are at that moment.

No credential is kept between two calls, so a rotation takes effect on the next one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from application.goods.port import GoodsProvider, Unconfigured
from application.providers.book import Provider
from application.providers.credential import Credential
from application.providers.opening import credential_in
from application.providers.sealing import Seals
from infrastructure.postgres.batch_store import Connections
from infrastructure.providers.registry.metered import MeteredProvider
from infrastructure.providers.registry.rows import read_provider
from infrastructure.telemetry import emit, is_measured

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
    episodes: dict[tuple[str, str], str] = field(
        default_factory=dict[tuple[str, str], str], compare=False, repr=False
    )
    """Of each provider that cannot be used, what was told of it last."""

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        """See `Providers.find`.

        Raises:
            DatabaseUnavailableError: nobody knows how it is configured.
        """
        found = self._found(tenant_id, slug)
        detail = found.detail if isinstance(found, Unconfigured) else None
        self._tell(tenant_id, slug, detail)
        return found

    def _tell(self, tenant_id: str, slug: str, detail: str | None) -> None:
        """Log what is the matter once an episode, not at every look."""
        about = (tenant_id, slug)
        if self.episodes.get(about) == detail:
            return
        if detail is None:
            self.episodes.pop(about, None)
            emit("provider usable again", tenant=tenant_id, provider=slug)
        else:
            self.episodes[about] = detail
            emit("provider unusable", tenant=tenant_id, provider=slug, problem=detail)

    def _found(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
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
        return MeteredProvider(provider.slug, built) if is_measured() else built


def _unconfigured(detail: str, asked: GoodsProvider | None = None) -> Unconfigured:
    return Unconfigured(UNCONFIGURED, detail, asked)
