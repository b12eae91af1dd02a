"""A pool whose connections are looked at, as those of the product's processes are."""

from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.database import Database


def looked_at(conninfo: str, guarding: Guarding) -> Database:
    """Return a small pool, not open yet."""
    pool = Database(conninfo, pool_size=4)
    pool.look = guarding.look
    return pool
