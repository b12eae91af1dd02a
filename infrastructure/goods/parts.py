"""What the handlers of deliveries are made of, from the settings."""

from datetime import timedelta

from application.goods.pace import Pace
from infrastructure.goods.kinds import Goods
from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.batch_store import Connections
from infrastructure.providers.goods.adapters import build_adapter
from infrastructure.providers.registry.providers import PostgresProviders
from infrastructure.settings import Settings


def goods_of(
    settings: Settings, connections: Connections, guarding: Guarding
) -> Goods | None:
    """Return what it takes to buy goods; None: there is no key ring."""
    ring = settings.data_encryption_keys
    if ring is None:
        return None
    return Goods(
        providers=PostgresProviders(connections, ring, build_adapter),
        guards=guarding.money(connections),
        journal=guarding.journal,
        pace=Pace(base=timedelta(seconds=settings.goods_backoff_base_seconds)),
    )
