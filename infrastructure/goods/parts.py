"""What the handlers of deliveries are made of, from the settings."""

from datetime import timedelta

from application.callbacks.all import Callbacks
from application.goods.pace import Pace
from application.ports import Streams
from application.unit import UnitOfWork
from domain.goods.health import Patience
from infrastructure.goods.kinds import Goods
from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.batch_store import Connections
from infrastructure.providers.callbacks.wiring import callbacks_over
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
        guards=guarding.money(connections, Patience(_pace(settings).base)),
        journal=guarding.journal,
        pace=_pace(settings),
    )


def callbacks_of(
    settings: Settings, streams: Streams, connections: Connections, units: UnitOfWork
) -> Callbacks:
    """Return what takes what providers tell by themselves."""
    ring = settings.data_encryption_keys
    return callbacks_over(connections, ring, streams, units, _pace(settings))


def _pace(settings: Settings) -> Pace:
    return Pace(base=timedelta(seconds=settings.goods_backoff_base_seconds))
