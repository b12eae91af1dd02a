"""What waits to be published, over 50,000 counts: by its indexes, a few at a time."""

from datetime import timedelta

import pytest

from bench.lists.laid import outbox
from bench.lists.rows import lay
from domain.outbox import TOPICS
from projections.queries.outbox.lag import OutboxLag
from projections.queries.outbox.series import SeriesAsked
from tests.fixtures.database import TestDatabase
from tests.performance.lists.plans import Plans, Work

pytestmark = pytest.mark.database

ROWS = 50_000
DAYS = 400
COUNTS = "read_outbox_lag_a"
GONE = "outbox_gone"
IN_A_DAY = 24 + 60
"""Hours of a day, and minutes of one of them."""


@pytest.fixture
def plans(database: TestDatabase) -> Plans:
    connection = database.connect()
    for span, rows in (
        ("minute", ROWS),
        ("hour", 3 * 24 * len(TOPICS)),
        ("day", DAYS * len(TOPICS)),
        ("ever", len(TOPICS)),
    ):
        lay(connection, COUNTS, outbox.recorded(span), rows)
        lay(connection, GONE, outbox.gone(span), rows)
    return Plans(connection)


def gone(work: Work) -> Work:
    """What the same statements did to the counts of what is gone."""
    other = Work(GONE)
    other.plans = work.plans
    return other


def test_what_waits_now_is_found_by_a_day_an_hour_and_its_minutes(plans: Plans) -> None:
    for tenant, index in ((None, "pkey"), ("default", "tenant"), ("nobody", "tenant")):
        with plans.of(COUNTS) as work:
            told = OutboxLag(plans.lend)(tenant_id=tenant)
        with plans.of(COUNTS) as recent:
            asked = SeriesAsked(since=timedelta(hours=1), tenant_id=tenant)
            series = OutboxLag(plans.lend).series(asked)

        there = tenant != "nobody"
        assert [it.oldest_age_seconds is not None for it in told.topics] == (
            [there] * len(TOPICS)
        )
        assert (len(series.points) > 0) == there
        for each in (work, gone(work), recent, gone(recent)):
            assert each.indexes == {f"{each.table}_{index}"}
        assert work.looked_at <= len(TOPICS) * (DAYS + IN_A_DAY + 10)
        assert recent.looked_at <= len(TOPICS) * 65
