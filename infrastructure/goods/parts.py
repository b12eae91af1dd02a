"""What the handlers of deliveries are made of, from the settings."""

from datetime import timedelta

from application.goods.pace import Pace
from infrastructure.goods.kinds import Goods
from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.batch_store import Connections
from infrastructure.providers.registry.wiring import providers_over
from infrastructure.settings import Settings


def goods_of(
    settings: Settings, connections: Connections, guarding: Guarding
) -> Goods | None:
    """Return what it takes to buy goods; None: there is no key ring."""
    ring = settings.data_encryption_keys
    if ring is None:
        return None
    return Goods(
        providers=providers_over(connections, ring),
        guards=guarding.money(connections),
        journal=guarding.journal,
        pace=Pace(base=timedelta(seconds=settings.goods_backoff_base_seconds)),
    )
