"""Over 50,000 rows of each table what waits is found by indexes, and by few rows."""

from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from projections.queries.outbox.lag import OutboxLag
from projections.queries.outbox.series import SeriesAsked
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.performance.lists.plans import Plans

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

# Ten topics, 5,000 minutes of each: three days and a half, five tenants in turn; all
# but the last is gone.
LAID = """
WITH minutes AS MATERIALIZED (
    SELECT topic, n, t * 5000 + n AS position, 'tenant ' || n % 5 AS tenant,
           date_trunc('minute', counterfoil.now())
               - (5000 - n) * interval '1 minute' AS at
      FROM unnest(ARRAY['order.paid', 'addon.purchased', 'wallet.credited',
                        'order.fulfilled', 'order.refunded', 'fulfillment.failed',
                        'entitlement.drift_detected', 'job.succeeded',
                        'job.discarded', 'job.cancelled'])
           WITH ORDINALITY AS topics (topic, t),
           generate_series(1, 5000) n
), events AS (
    INSERT INTO counterfoil.events
           (position, tenant_id, stream_id, version, type, schema, data, meta,
            recorded_at)
    SELECT position, tenant, counterfoil.uuid7(), 1, topic, 1, '{}', '{}', at
      FROM minutes
), outbox AS (
    INSERT INTO counterfoil.outbox
           (id, position, tenant_id, topic, stream_id, version, data, published_at)
    SELECT counterfoil.uuid7(), position, tenant, topic, counterfoil.uuid7(), 1,
           '{}', CASE WHEN n < 5000 THEN at END
      FROM minutes
), counts AS (
    SELECT s.span, topic, counterfoil.lag_begins(s.span, at) AS begins_at, tenant,
           counterfoil.lag_block(s.span, position) AS block, count(*) AS recorded,
           min(position) AS first_position, max(position) AS last_position,
           min(at) AS first_at, max(at) AS last_at,
           count(*) FILTER (WHERE n < 5000) AS gone
      FROM minutes CROSS JOIN (VALUES ('minute'), ('hour'), ('day'), ('ever')) s (span)
     GROUP BY 1, 2, 3, 4, 5
), gone AS (
    INSERT INTO counterfoil.outbox_gone
    SELECT span, topic, begins_at, tenant, block, gone, '1 s'
      FROM counts WHERE gone > 0
)
INSERT INTO counterfoil.read_outbox_lag_a
SELECT span, topic, begins_at, tenant, block, recorded, first_position,
       last_position, first_at, last_at
  FROM counts
"""

CHECKPOINT = """
INSERT INTO counterfoil.checkpoints (name, position)
SELECT 'outbox_lag_a:counterfoil', max(position) FROM counterfoil.events
"""

TABLES = ("read_outbox_lag_a", "outbox_gone", "outbox", "events")


def test_few_rows_are_looked_at_and_each_by_an_index(database: TestDatabase) -> None:
    connection = database.connect()
    connection.execute(LAID)
    connection.execute(CHECKPOINT)
    plans = Plans(database.connect())
    lag = OutboxLag(plans.lend)
    week = SeriesAsked(since=timedelta(hours=8), step="1m", topic="order.paid")
    asked: dict[str, tuple[Callable[[], object], int]] = {
        # Of ten topics: their sums, their days, a day's hours, an hour's minutes.
        "now": (lag, 10 * (5 * (1 + 5 + 24) + 60 + 2)),
        "a topic": (lambda: lag("job.succeeded"), 5 * (1 + 5 + 24) + 60 + 2),
        "a tenant": (lambda: lag(tenant_id="tenant 0"), 10 * (1 + 5 + 24 + 12 + 2)),
        "a series": (lambda: lag.series(week), 482),
    }

    for known in (False, True):
        if known:
            connection.execute("ANALYZE")
        for name, (ask, most) in asked.items():
            with ExitStack() as stack:
                works = {it: stack.enter_context(plans.of(it)) for it in TABLES}
                ask()
            for table, work in works.items():
                assert None not in work.indexes, (known, name, table)
                assert work.looked_at <= most, (known, name, table)
    assert lag().pending_count == 10
