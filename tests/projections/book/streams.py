"""The log as plain JSON, stream by stream: all that the books read."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg


class Told(NamedTuple):
    """One event, as its row tells it."""

    position: int
    tenant_id: str
    stream_id: UUID
    version: int
    type: str
    data: dict[str, Any]
    meta: dict[str, Any]
    recorded_at: datetime


def streams(connection: psycopg.Connection[Any], until: int) -> list[list[Told]]:
    """Return every stream up to a position, each in its order."""
    found: dict[UUID, list[Told]] = {}
    rows = connection.execute(
        """
        SELECT position, tenant_id, stream_id, version, type, data, meta, recorded_at
          FROM counterfoil.events
         WHERE position <= %s
         ORDER BY version
        """,
        (until,),
    )
    for row in rows:
        told = Told(*row)
        found.setdefault(told.stream_id, []).append(told)
    return list(found.values())
