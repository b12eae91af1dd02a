"""What configures providers of goods on behalf of people, over one database."""

from application.providers.configuring import ConfigureProviders
from application.providers.sealing import Seals
from application.unit import UnitOfWork
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.providers.registry.adapters import ADAPTERS
from infrastructure.providers.registry.book import PostgresProviderBook


def configure_over(
    connections: Connections, seals: Seals | None, units: UnitOfWork
) -> ConfigureProviders:
    """Return what changes providers, and tells of them; without keys no secrets."""
    return ConfigureProviders(
        book=PostgresProviderBook(connections),
        seals=seals,
        adapters=ADAPTERS,
        units=units,
        ids=new_id,
    )
