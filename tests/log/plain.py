"""Appending to the log with nothing but SQL, as any writer may."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import scalar_row

from infrastructure.ids import new_id

APPEND = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
SELECT 'default', e.stream_id, e.version, 'test.happened', 1, '{}', '{}'
  FROM unnest(%(streams)s::uuid[], %(versions)s::int[])
       WITH ORDINALITY AS e(stream_id, version, n)
 ORDER BY e.n
RETURNING position
"""

TICKETS = """
SELECT l.objid::bigint
  FROM pg_locks l, counterfoil.installation i
 WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.mode = 'ShareLock'
   AND l.classid::bigint = (i.lock_space::bigint & 4294967295)
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
 ORDER BY 1
"""


def append(
    connection: psycopg.Connection[Any],
    streams: Sequence[UUID] = (),
    *,
    version: int = 1,
) -> list[int]:
    """Append one event to each stream (to a new one by default): positions."""
    wanted = list(streams) or [new_id()]
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(
            APPEND, {"streams": wanted, "versions": [version] * len(wanted)}
        ).fetchall()


def tickets(connection: psycopg.Connection[Any]) -> list[int]:
    """Return the tickets that are held in this database."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(TICKETS).fetchall()


def horizon(connection: psycopg.Connection[Any]) -> int:
    with connection.cursor(row_factory=scalar_row) as cursor:
        (position,) = cursor.execute("SELECT counterfoil.horizon()").fetchall()
        return int(position)


def last_position(connection: psycopg.Connection[Any]) -> int:
    with connection.cursor(row_factory=scalar_row) as cursor:
        (value,) = cursor.execute("SELECT counterfoil.last_position()").fetchall()
        return int(value)
