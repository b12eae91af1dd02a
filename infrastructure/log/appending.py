"""Writing through the library's door: only streams without a head."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg
from eventsourcing.persistence import ProgrammingError
from psycopg.rows import scalar_row, tuple_row

from infrastructure.errors import InfrastructureError

# A job that succeeded has no head any more, but is no less finished (I6).
_HEADS: Final = """
SELECT stream_id, 'orders'
  FROM counterfoil.orders WHERE stream_id = ANY(%(ids)s)
 UNION ALL
SELECT stream_id, 'entitlements'
  FROM counterfoil.entitlements WHERE stream_id = ANY(%(ids)s)
 UNION ALL
SELECT stream_id, 'operations'
  FROM counterfoil.operations WHERE stream_id = ANY(%(ids)s)
 UNION ALL
SELECT stream_id, 'jobs'
  FROM counterfoil.jobs WHERE stream_id = ANY(%(ids)s)
 UNION ALL
SELECT stream_id, 'jobs_dead'
  FROM counterfoil.jobs_dead WHERE stream_id = ANY(%(ids)s)
 UNION ALL
SELECT stream_id, 'no table any more (a succeeded job)'
  FROM counterfoil.events WHERE stream_id = ANY(%(ids)s) AND type = 'job.succeeded'
 LIMIT 1
"""

# ORDER BY n as in the batch store: positions follow the order of the call.
_APPEND: Final = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
SELECT e.tenant_id, e.stream_id, e.version, e.type, e.schema,
       e.data::jsonb, e.meta::jsonb
  FROM unnest(%(tenants)s::text[], %(streams)s::uuid[], %(versions)s::int[],
              %(tags)s::text[], %(schemas)s::smallint[], %(data)s::text[],
              %(metas)s::text[])
       WITH ORDINALITY AS e(tenant_id, stream_id, version, type, schema, data, meta, n)
 ORDER BY e.n
RETURNING position
"""


class HeadedStreamError(InfrastructureError, ProgrammingError):
    """The library's door was asked to write a stream that has a head."""

    code = "headed_stream"

    def __init__(self, stream_id: UUID, kept_in: str) -> None:
        """Name the stream and where its head is kept."""
        self.stream_id = stream_id
        self.kept_in = kept_in
        super().__init__(
            f"stream {stream_id} has its head in {kept_in}: only the batch store "
            "writes it, head and events together"
        )


class NewRow(NamedTuple):
    """One event to be appended, its JSON as text."""

    tenant_id: str
    stream_id: UUID
    version: int
    tag: str
    schema: int
    data: str
    meta: str


def append(connection: psycopg.Connection[Any], rows: Sequence[NewRow]) -> list[int]:
    """Return the positions of `rows`, all of them appended in their order.

    Raises:
        HeadedStreamError: one of the streams has a head; nothing was written.
        psycopg.Error: PostgreSQL refused; nothing was written.
    """
    parameters: dict[str, object] = {
        "tenants": [row.tenant_id for row in rows],
        "streams": [row.stream_id for row in rows],
        "versions": [row.version for row in rows],
        "tags": [row.tag for row in rows],
        "schemas": [row.schema for row in rows],
        "data": [row.data for row in rows],
        "metas": [row.meta for row in rows],
    }
    _refuse_heads(connection, sorted({row.stream_id for row in rows}))
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_APPEND, parameters, prepare=True).fetchall()


def _refuse_heads(connection: psycopg.Connection[Any], ids: Sequence[UUID]) -> None:
    with connection.cursor(row_factory=tuple_row) as cursor:
        found = cursor.execute(_HEADS, {"ids": ids}, prepare=True).fetchone()
    if found is not None:
        raise HeadedStreamError(*found)
