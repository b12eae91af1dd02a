"""The book of outbox lag: messages counted by plain SQL, span by span."""

from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.projections.book.told import Rows

TOPICS = [
    "addon.purchased",
    "entitlement.drift_detected",
    "fulfillment.failed",
    "goods.delivered",
    "goods.refunded",
    "job.cancelled",
    "job.discarded",
    "job.succeeded",
    "maintenance.closed",
    "maintenance.opened",
    "order.fulfilled",
    "order.paid",
    "order.refunded",
    "wallet.credited",
]

COUNT = """
SELECT '{span}' AS span, type AS topic, {begins} AS begins_at, tenant_id,
       {block} AS block, count(*) AS recorded, min(position) AS first_position,
       max(position) AS last_position, min(recorded_at) AS first_at,
       max(recorded_at) AS last_at
  FROM counterfoil.events
 WHERE position <= %(until)s AND type = ANY(%(topics)s)
 GROUP BY 1, 2, 3, 4, 5
"""

SPANS = (
    ("minute", "date_trunc('minute', recorded_at, 'UTC')", "position / 16384"),
    ("hour", "date_trunc('hour', recorded_at, 'UTC')", "0::bigint"),
    ("day", "date_trunc('day', recorded_at, 'UTC')", "0::bigint"),
    ("ever", "'1970-01-01T00:00Z'::timestamptz", "0::bigint"),
)


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    """Return every count at a position."""
    key = ("span", "topic", "begins_at", "tenant_id", "block")
    told: Rows = {}
    with connection.cursor(row_factory=dict_row) as cursor:
        for span, begins, block in SPANS:
            query = COUNT.format(span=span, begins=begins, block=block)
            found = cursor.execute(query, {"until": until, "topics": TOPICS})
            told |= {tuple(row[name] for name in key): row for row in found}
    return told
