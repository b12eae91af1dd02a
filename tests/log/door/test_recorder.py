"""What our recorder does that the library's own cases do not ask for."""

from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
from eventsourcing.persistence import (
    IntegrityError,
    JSONTranscoder,
    ProgrammingError,
    StoredEvent,
)

from infrastructure.errors import InfrastructureError
from infrastructure.ids import new_id
from infrastructure.log.appending import HeadedStreamError
from infrastructure.log.mapper import StreamEvent, StructMapper, UnknownTopicError
from infrastructure.log.recorder import LogRecorder
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database, transaction
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.door.library import datastore_of
from tests.log.jobs import (
    BIRTH,
    CLAIM,
    DEATH,
    META,
    SUCCESS,
    appending,
    births,
    job_refs,
    written,
)
from tests.log.plain import append, tickets

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]


@pytest.fixture
def recorder(database: TestDatabase) -> Iterator[LogRecorder]:
    datastore = datastore_of(database.conninfo)
    yield LogRecorder(datastore)
    datastore.close()


@pytest.fixture
def lonely_recorder(database: TestDatabase) -> Iterator[LogRecorder]:
    """A recorder whose pool has one connection, and gives up soon."""
    datastore = datastore_of(database.conninfo, pool_size=1, overflow=0)
    datastore.pool.timeout = 0.5
    yield LogRecorder(datastore)
    datastore.close()


@pytest.fixture
def store(database: TestDatabase) -> Iterator[BatchStore]:
    with Database(database.conninfo, pool_size=4) as opened:
        yield BatchStore(opened)


def event(stream: UUID | None = None, version: int = 1) -> StoredEvent:
    """Return what the mapper makes of a job's birth."""
    mapped = StreamEvent(
        originator_id=stream or new_id(),
        originator_version=version,
        tenant_id="acme",
        event=BIRTH,
        meta=META,
    )
    return StructMapper(JSONTranscoder()).to_stored_event(cast("Any", mapped))


def count(connection: psycopg.Connection[Any]) -> int:
    (row,) = connection.execute("SELECT count(*) FROM counterfoil.events").fetchall()
    return int(row[0])


@pytest.mark.parametrize(
    ("events", "kept_in"),
    [
        ([], "jobs"),
        ([CLAIM], "jobs"),
        ([CLAIM, DEATH], "jobs_dead"),
        ([CLAIM, SUCCESS], "succeeded"),
    ],
)
def test_a_stream_that_has_or_had_a_head_is_refused(
    events: list[Any],
    kept_in: str,
    recorder: LogRecorder,
    store: BatchStore,
    database: TestDatabase,
) -> None:
    """I6: also a job that succeeded, whose head is gone."""
    (job,) = job_refs(1)
    written(store.commit([births([job])]))
    for more in events:
        written(store.commit([appending([job], more)]))
    before = count(database.connect())

    with pytest.raises(HeadedStreamError, match=kept_in) as refusal:
        recorder.insert_events([event(), event(job.id, version=2 + len(events))])

    assert refusal.value.stream_id == job.id
    assert count(database.connect()) == before
    assert isinstance(refusal.value, ProgrammingError)
    assert isinstance(refusal.value, InfrastructureError)


def test_a_refused_stream_is_read_all_the_same(
    recorder: LogRecorder, store: BatchStore
) -> None:
    (job,) = job_refs(1)
    written(store.commit([births([job])]))
    written(store.commit([appending([job], CLAIM)]))

    read = recorder.select_events(job.id)

    assert [(e.originator_version, e.topic) for e in read] == [
        (1, "job.enqueued:1"),
        (2, "job.claimed:1"),
    ]


def test_a_topic_that_is_not_ours_is_refused(
    recorder: LogRecorder, database: TestDatabase
) -> None:
    stranger = StoredEvent(new_id(), 1, "shop.domain:Order.Placed", event().state)

    with pytest.raises(UnknownTopicError):
        recorder.insert_events([event(), stranger])

    assert count(database.connect()) == 0


def test_joined_it_writes_in_the_callers_transaction(
    recorder: LogRecorder, database: TestDatabase
) -> None:
    mine, others = database.connect(), database.connect()
    birth = event()

    with transaction(mine), recorder.joined(mine):
        positions = recorder.insert_events([birth])
        assert [e.topic for e in recorder.select_events(birth.originator_id)] == [
            "job.enqueued:1"
        ]
        assert count(others) == 0

    assert positions == [1]
    assert count(others) == 1


def test_joined_it_is_rolled_back_with_the_caller(
    recorder: LogRecorder, database: TestDatabase
) -> None:
    mine = database.connect()

    with mine.transaction(force_rollback=True), recorder.joined(mine):
        recorder.insert_events([event()])

    assert count(mine) == 0
    assert tickets(mine) == []


def test_joined_to_a_savepoint_it_is_rolled_back_with_it(
    recorder: LogRecorder, database: TestDatabase
) -> None:
    mine = database.connect()
    kept = event()

    with mine.transaction(), recorder.joined(mine):
        recorder.insert_events([kept])
        with pytest.raises(IntegrityError), mine.transaction():
            recorder.insert_events([event(), kept])

    assert count(mine) == 1


def test_joined_it_takes_no_second_connection(
    lonely_recorder: LogRecorder, database: TestDatabase
) -> None:
    """A unit of work that read over the pool would wait for itself."""
    store = lonely_recorder.datastore

    with (
        store.get_connection() as only,
        only.transaction(),
        lonely_recorder.joined(only),
    ):
        lonely_recorder.insert_events([event()])
        assert lonely_recorder.select_notifications(None, 10) == []
        assert lonely_recorder.max_notification_id() is None
        assert lonely_recorder.select_events(new_id()) == []

    assert lonely_recorder.max_notification_id() == 1
    assert count(database.connect()) == 1


def test_joined_it_does_not_write_outside_a_transaction(
    recorder: LogRecorder, database: TestDatabase
) -> None:
    mine = database.connect()

    with (
        recorder.joined(mine),
        pytest.raises(ProgrammingError, match="not in a transaction"),
    ):
        recorder.insert_events([event()])

    assert count(mine) == 0


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_the_log_is_not_read_under_a_snapshot_older_than_the_horizon(
    isolation: str, recorder: LogRecorder, database: TestDatabase
) -> None:
    mine = database.connect()

    with mine.transaction(), recorder.joined(mine):
        mine.execute("SET TRANSACTION ISOLATION LEVEL " + isolation)
        with pytest.raises(ProgrammingError, match="would miss events"):
            recorder.select_notifications(None, 10)


def test_notifications_end_at_the_horizon(
    recorder: LogRecorder, database: TestDatabase
) -> None:
    slow = database.connect()
    recorder.insert_events([event()])

    with slow.transaction():
        append(slow)
        recorder.insert_events([event()])

        assert [n.id for n in recorder.select_notifications(None, 10)] == [1]
        assert recorder.max_notification_id() == 1

    assert recorder.max_notification_id() == 3


def test_topics_choose_among_notifications(
    recorder: LogRecorder, store: BatchStore
) -> None:
    jobs = job_refs(3)
    written(store.commit([births(jobs)]))
    written(store.commit([appending(jobs, CLAIM)]))

    chosen = recorder.select_notifications(
        None, 10, topics=["job.claimed:1", "job.enqueued:2"]
    )

    assert [(n.id, n.topic) for n in chosen] == [
        (position, "job.claimed:1") for position in (4, 5, 6)
    ]


def test_writing_through_the_library_locks_no_table(
    recorder: LogRecorder, database: TestDatabase
) -> None:
    """The stock recorder takes EXCLUSIVE until the caller's commit."""
    mine, others = database.connect(), database.connect()
    others.execute("SET lock_timeout = '100ms'")

    with mine.transaction(), recorder.joined(mine):
        recorder.insert_events([event()])
        append(others)

        assert recorder.insert_events([event()]) == [3]


def test_the_id_of_a_stream_may_be_given_as_text(recorder: LogRecorder) -> None:
    birth = event()
    recorder.insert_events([birth])

    (read,) = recorder.select_events(str(birth.originator_id))

    assert read.originator_id == birth.originator_id
