"""Which streams a story went through: those that read models know by its correlation.

correlation ─► jobs, operations, deliveries ─► their orders and entitlements
                                            └► what people did to them: remarks
"""

from typing import Final
from uuid import UUID

from psycopg import sql
from psycopg.rows import scalar_row

from projections.connections import Lend
from projections.reading import reading

MOST_STREAMS: Final = 1_000

_STREAMS: Final = sql.SQL("""
WITH told AS MATERIALIZED (
    SELECT a.stream_id
      FROM {attempts} a
     WHERE a.tenant_id = %(tenant_id)s
       AND a.correlation_id = %(correlation_id)s
     ORDER BY a.tenant_id, a.correlation_id, a.position
     LIMIT %(looked_at)s
), done AS MATERIALIZED (
    SELECT DISTINCT stream_id FROM told
), involved AS MATERIALIZED (
    SELECT d.stream_id FROM done d
     UNION
    SELECT o.order_stream_id
      FROM done d
      JOIN {operations} o ON o.stream_id = d.stream_id
     UNION
    SELECT o.entitlement_id
      FROM done d
      JOIN {operations} o ON o.stream_id = d.stream_id
     UNION
    SELECT g.order_stream_id
      FROM done d
      JOIN {deliveries} g ON g.stream_id = d.stream_id
     UNION
    SELECT j.order_stream_id
      FROM done d
      JOIN {jobs} j ON j.stream_id = d.stream_id
)
SELECT i.stream_id
  FROM involved i
 WHERE i.stream_id IS NOT NULL
 UNION
SELECT r.stream_id
  FROM involved i
 CROSS JOIN LATERAL (
    SELECT t.stream_id
      FROM {audit} t
     WHERE t.target = i.stream_id::text
     ORDER BY t.target, t.position
     LIMIT 100) r
 LIMIT %(most)s
""")
_LOOKED_AT: Final = 20_000


def streams_of(lend: Lend, tenant_id: str, correlation_id: str) -> tuple[UUID, ...]:
    """Return the streams of a story, as far as read models are."""
    given = {
        "tenant_id": tenant_id,
        "correlation_id": correlation_id,
        "looked_at": _LOOKED_AT,
        "most": MOST_STREAMS,
    }
    names = ("attempts", "operations", "deliveries", "jobs", "audit")
    with reading(lend, *names) as look:
        statement = _STREAMS.format(**look.tables)
        with look.connection.cursor(row_factory=scalar_row) as cursor:
            return tuple(cursor.execute(statement, given).fetchall())
