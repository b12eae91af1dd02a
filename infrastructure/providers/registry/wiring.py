"""Providers of goods over one database: found for handlers, configured by people."""

from application.operators.deliveries.reconcile import ReconcileDelivery
from application.providers.configuring import ConfigureProviders
from application.providers.sealing import Seals
from application.unit import UnitOfWork
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.providers.goods.adapters import ADAPTERS, build_adapter
from infrastructure.providers.registry.bodies import PostgresSealedBodies
from infrastructure.providers.registry.book import PostgresProviderBook
from infrastructure.providers.registry.providers import PostgresProviders


def providers_over(connections: Connections, seals: Seals | None) -> PostgresProviders:
    """Return what finds providers by how they are configured at each moment."""
    return PostgresProviders(connections, seals, build_adapter)


def configure_over(
    connections: Connections, seals: Seals | None, units: UnitOfWork
) -> ConfigureProviders:
    """Return what changes providers, and tells of them; without keys no secrets."""
    return ConfigureProviders(
        book=PostgresProviderBook(connections),
        bodies=PostgresSealedBodies(connections),
        seals=seals,
        adapters=ADAPTERS,
        units=units,
        ids=new_id,
    )


def reconcile_over(
    connections: Connections, seals: Seals | None, units: UnitOfWork
) -> ReconcileDelivery:
    """Return what has providers asked what became of purchases."""
    return ReconcileDelivery(
        streams=PostgresStreams(connections),
        units=units,
        ids=new_id,
        providers=providers_over(connections, seals),
    )
