"""Events that nobody can fold, written with nothing but SQL."""

from typing import Any
from uuid import UUID

import psycopg

from infrastructure.ids import new_id

ADD = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
SELECT 'default', %(stream_id)s, coalesce(max(version), 0) + 1, %(type)s, %(schema)s,
       %(data)s::jsonb,
       '{"actor": {"type": "system", "id": "test"}, "correlation_id": "test"}'
  FROM counterfoil.events
 WHERE stream_id = %(stream_id)s
RETURNING position
"""

UNPARKED = '{"run_at": "2026-01-01T00:00:00Z"}'


def add(
    connection: psycopg.Connection[Any],
    stream_id: UUID | None = None,
    *,
    tag: str = "job.unparked",
    schema: int = 1,
    data: str = UNPARKED,
) -> int:
    """Append one event to a stream (to a new one by default): its position."""
    told = {
        "stream_id": stream_id or new_id(),
        "type": tag,
        "schema": schema,
        "data": data,
    }
    ((position,),) = connection.execute(ADD, told).fetchall()
    return int(position)
