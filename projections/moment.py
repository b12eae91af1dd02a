"""The moment that a read shows: the database's clock, and who works."""

from typing import Any, Final

import msgspec
import psycopg

from domain.event import Instant

# Workers beat every 15 s; four missed beats are a process that is gone.
_MOMENT: Final = """
SELECT counterfoil.now(),
       (SELECT count(*)
          FROM counterfoil.workers
         WHERE stopped_at IS NULL
           AND beat_at > counterfoil.now() - interval '60 seconds')
"""


class Moment(msgspec.Struct, frozen=True):
    """When a read was made, and how many workers lived then."""

    now: Instant
    live_workers: int


def read_moment(connection: psycopg.Connection[Any]) -> Moment:
    """Return the present moment."""
    ((now, live_workers),) = connection.execute(_MOMENT).fetchall()
    return Moment(now, live_workers)
