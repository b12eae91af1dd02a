"""The log as it is shown: filters, pages, and nothing beyond the horizon."""

from collections.abc import Iterator

import pytest

from infrastructure.postgres.database import Database
from projections.event_log import EventFilter, EventLog
from tests.fixtures.database import TestDatabase
from tests.operators.world import World

pytestmark = pytest.mark.database


@pytest.fixture
def event_log(database: TestDatabase) -> Iterator[EventLog]:
    with Database(database.conninfo, pool_size=1) as pool:
        yield EventLog(pool.connection)


def test_without_a_position_the_latest_are_shown_in_order(
    world: World, event_log: EventLog
) -> None:
    jobs = [world.report() for _ in range(5)]

    latest = event_log(EventFilter(limit=2))

    assert [event.stream_id for event in latest] == jobs[-2:]


def test_reading_on_by_position_shows_every_event_once(
    world: World, event_log: EventLog
) -> None:
    jobs = [world.report() for _ in range(5)]

    seen = []
    after = 0
    while page := event_log(EventFilter(after=after, limit=2)):
        seen += [event.stream_id for event in page]
        after = page[-1].position

    assert seen == jobs


def test_filters_count_together(world: World, event_log: EventLog) -> None:
    operation, job = world.operation()
    world.report(correlationId="mine", tenant="other")

    (born,) = event_log(EventFilter(stream_id=job, type="job.enqueued"))
    (mine,) = event_log(EventFilter(correlation_id="mine"))
    of_the_order = event_log(EventFilter(correlation_id="order:shop:1"))

    assert born.data["kind"] == "fulfillment"
    assert mine.tenant_id == "other"
    assert event_log(EventFilter(tenant_id="other")) == [mine]
    assert {operation, job} <= {event.stream_id for event in of_the_order}


def test_nothing_is_shown_that_is_not_final_yet(
    world: World, event_log: EventLog, database: TestDatabase
) -> None:
    """A reader that pages on would never see what commits behind its cursor."""
    slow = database.connect()
    slow.execute("BEGIN")
    slow.execute('SELECT counterfoil.enqueue(\'{"kind": "slow"}\')')
    later = world.report()

    assert event_log(EventFilter(after=0)) == []

    slow.execute("COMMIT")
    told = event_log(EventFilter(after=0))
    assert [event.told("kind") for event in told] == ["slow", "report"]
    assert told[-1].stream_id == later
