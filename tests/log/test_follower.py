"""The product's own reader: in order, decoded, never past the horizon."""

import threading
from collections.abc import Iterator

import pytest

from domain.order.events import Paid
from domain.recorded import RecordedEvent
from infrastructure.log.follower import Batch, Follower, Unreadable
from infrastructure.log.horizon import Horizon
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.jobs import (
    BIRTH,
    CLAIM,
    META,
    SUCCESS,
    appending,
    births,
    job_refs,
    written,
)
from tests.log.plain import append

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

SETTLE = """
SELECT counterfoil.settle_order('{
    "orderId": "A-1", "customerId": "C-1", "kind": "purchase", "currency": "EUR",
    "amountMinor": 1490, "lines": [{"line": 1, "type": "access", "days": 30}]
}')
"""


@pytest.fixture
def opened(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=4) as opened:
        yield opened


@pytest.fixture
def store(opened: Database) -> BatchStore:
    return BatchStore(opened)


@pytest.fixture
def follower(opened: Database) -> Follower:
    return Follower(opened.connection, Horizon(opened.connection))


def recorded(batch: Batch) -> list[RecordedEvent]:
    """Return the events of a batch of which all can be read."""
    assert all(isinstance(found, RecordedEvent) for found in batch.events)
    return [found for found in batch.events if isinstance(found, RecordedEvent)]


def positions(batch: Batch) -> list[int]:
    return [found.position for found in batch.events]


def test_a_recorded_event_comes_with_all_that_was_written(
    follower: Follower, store: BatchStore, database: TestDatabase
) -> None:
    (before,) = database.connect().execute("SELECT counterfoil.now()").fetchall()[0]
    (job,) = job_refs(1)
    written(store.commit([births([job])]))

    (read,) = recorded(follower.read(after=0, most=10))

    assert (read.position, read.version, read.stream_id) == (1, 1, job.id)
    assert (read.tenant_id, read.tag, read.schema) == ("default", "job.enqueued", 1)
    assert read.event == BIRTH
    assert read.meta.commit_id is not None
    assert (read.meta.actor, read.meta.correlation_id) == (
        META.actor,
        META.correlation_id,
    )
    assert read.recorded_at >= before
    assert read.recorded_at.utcoffset() == before.utcoffset()


def test_a_stream_is_read_whole_and_in_order(
    follower: Follower, store: BatchStore
) -> None:
    mine, other = job_refs(2)
    written(store.commit([births([mine, other])]))
    written(store.commit([appending([other], CLAIM), appending([mine], CLAIM)]))
    written(store.commit([appending([mine], SUCCESS)]))

    stream = follower.read_stream(mine.id)

    assert [
        (each.version, each.event) for each in stream if isinstance(each, RecordedEvent)
    ] == [(1, BIRTH), (2, CLAIM), (3, SUCCESS)]
    assert follower.read_stream(job_refs(1)[0].id) == []


def test_what_sql_wrote_is_read_like_what_python_wrote(
    follower: Follower, database: TestDatabase
) -> None:
    database.connect().execute(SETTLE)

    order, job = recorded(follower.read(after=0, most=10))

    assert isinstance(order.event, Paid)
    assert order.event.order_id == "A-1"
    assert job.tag == "job.enqueued"


def test_a_page_ends_at_its_limit_and_the_next_goes_on(
    follower: Follower, store: BatchStore
) -> None:
    written(store.commit([births(job_refs(5))]))

    first = follower.read(after=0, most=3)
    second = follower.read(after=first.until, most=3)

    assert positions(first) == [1, 2, 3]
    assert positions(second) == [4, 5]
    assert follower.read(after=5, most=3) == Batch(after=5, until=5, events=[])


def test_nothing_is_read_past_an_open_transaction(
    follower: Follower, store: BatchStore, database: TestDatabase
) -> None:
    slow = database.connect()
    written(store.commit([births(job_refs(1))]))

    with slow.transaction(force_rollback=True):
        append(slow)
        written(store.commit([births(job_refs(2))]))
        assert positions(follower.read(after=0, most=10)) == [1]

    assert positions(follower.read(after=0, most=10)) == [1, 3, 4]


def test_a_cursor_beyond_the_horizon_waits(
    follower: Follower, store: BatchStore
) -> None:
    written(store.commit([births(job_refs(2))]))

    assert follower.read(after=1_000_000, most=10).events == []


def test_an_event_of_a_newer_version_is_told_as_unreadable_by_name(
    follower: Follower, database: TestDatabase
) -> None:
    append(database.connect())

    (found,) = follower.read(after=0, most=10).events

    assert isinstance(found, Unreadable)
    assert (found.position, found.tag) == (1, "test.happened")
    assert "test.happened with schema 1" in found.reason


def test_what_does_not_fit_its_class_is_told_without_its_value(
    follower: Follower, database: TestDatabase
) -> None:
    database.connect().execute(
        """
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        VALUES ('default', gen_random_uuid(), 1, 'job.unparked', 1,
                '{"run_at": "s3cret"}',
                '{"actor": {"type": "shop", "id": "s"}, "correlation_id": "c"}')
        """
    )

    (found,) = follower.read(after=0, most=10).events

    assert isinstance(found, Unreadable)
    assert "$.run_at" in found.reason
    assert "s3cret" not in found.reason


def test_a_batch_holds_the_families_that_were_asked_for(
    follower: Follower, database: TestDatabase
) -> None:
    database.connect().execute(SETTLE)

    batch = follower.read(after=0, most=10, families={"job"})

    assert [found.tag for found in batch.events] == ["job.enqueued"]
    assert batch.until == 2


def test_an_end_that_was_final_before_costs_no_new_look(
    opened: Database, store: BatchStore, database: TestDatabase
) -> None:
    horizon = Horizon(opened.connection)
    follower = Follower(opened.connection, horizon)
    written(store.commit([births(job_refs(2))]))
    horizon.current()
    slow = database.connect()
    with slow.transaction(force_rollback=True):
        append(slow)
        written(store.commit([births(job_refs(1))]))

        told = follower.read(after=0, most=10, until=2)
        beyond = follower.read(after=0, most=10, until=4)

    assert positions(told) == [1, 2]
    assert (positions(beyond), horizon.highest) == ([1, 2], 2)


def test_followers_of_one_process_share_the_horizon(
    opened: Database, store: BatchStore
) -> None:
    horizon = Horizon(opened.connection)
    written(store.commit([births(job_refs(50))]))
    seen: list[list[int]] = []

    def follow() -> None:
        follower = Follower(opened.connection, horizon)
        mine: list[int] = []
        while page := positions(follower.read(mine[-1] if mine else 0, 7)):
            mine += page
        seen.append(mine)

    threads = [threading.Thread(target=follow) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert seen == [list(range(1, 51))] * 4
