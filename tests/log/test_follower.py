"""The product's own reader: in order, decoded, never past the horizon."""

import threading
from collections.abc import Iterator

import pytest

from domain.order.events import Paid
from domain.recorded import RecordedEvent
from infrastructure.log.follower import Follower
from infrastructure.log.horizon import Horizon
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.codec import UnknownEventError
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


def positions(events: list[RecordedEvent]) -> list[int]:
    return [event.position for event in events]


def test_a_recorded_event_comes_with_all_that_was_written(
    follower: Follower, store: BatchStore, database: TestDatabase
) -> None:
    (before,) = database.connect().execute("SELECT counterfoil.now()").fetchall()[0]
    (job,) = job_refs(1)
    written(store.commit([births([job])]))

    (read,) = follower.read(after=0, limit=10)

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

    assert [(each.version, each.event) for each in stream] == [
        (1, BIRTH),
        (2, CLAIM),
        (3, SUCCESS),
    ]
    assert follower.read_stream(job_refs(1)[0].id) == []


def test_what_sql_wrote_is_read_like_what_python_wrote(
    follower: Follower, database: TestDatabase
) -> None:
    database.connect().execute(SETTLE)

    order, job = follower.read(after=0, limit=10)

    assert isinstance(order.event, Paid)
    assert order.event.order_id == "A-1"
    assert job.tag == "job.enqueued"


def test_a_page_ends_at_its_limit_and_the_next_goes_on(
    follower: Follower, store: BatchStore
) -> None:
    written(store.commit([births(job_refs(5))]))

    first = follower.read(after=0, limit=3)
    second = follower.read(after=first[-1].position, limit=3)

    assert positions(first) == [1, 2, 3]
    assert positions(second) == [4, 5]
    assert follower.read(after=5, limit=3) == []


def test_nothing_is_read_past_an_open_transaction(
    follower: Follower, store: BatchStore, database: TestDatabase
) -> None:
    slow = database.connect()
    written(store.commit([births(job_refs(1))]))

    with slow.transaction(force_rollback=True):
        append(slow)
        written(store.commit([births(job_refs(2))]))
        assert positions(follower.read(after=0, limit=10)) == [1]

    assert positions(follower.read(after=0, limit=10)) == [1, 3, 4]


def test_a_cursor_beyond_the_horizon_waits(
    follower: Follower, store: BatchStore
) -> None:
    written(store.commit([births(job_refs(2))]))

    assert follower.read(after=1_000_000, limit=10) == []


def test_an_event_of_a_newer_version_stops_the_follower_by_name(
    follower: Follower, database: TestDatabase
) -> None:
    append(database.connect())

    with pytest.raises(UnknownEventError, match=r"test\.happened"):
        follower.read(after=0, limit=10)


def test_followers_of_one_process_share_the_horizon(
    opened: Database, store: BatchStore
) -> None:
    horizon = Horizon(opened.connection)
    written(store.commit([births(job_refs(50))]))
    seen: list[list[int]] = []

    def follow() -> None:
        follower = Follower(opened.connection, horizon)
        mine: list[int] = []
        while page := follower.read(after=mine[-1] if mine else 0, limit=7):
            mine += positions(page)
        seen.append(mine)

    threads = [threading.Thread(target=follow) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert seen == [list(range(1, 51))] * 4
