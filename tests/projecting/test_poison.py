"""An event that cannot be folded stops its own stream, and nothing else (I13)."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, override
from uuid import UUID

import psycopg
import pytest

from domain.jobs.events import Unparked
from domain.recorded import RecordedEvent
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.projecting.advanced import Advanced, State
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.table import ReadModelMismatchError
from projections.read_models.jobs import JobRow, Jobs
from projections.read_models.projection import Key
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_model_holds, rows_of
from tests.log.jobs import CLAIM, SUCCESS, appending, births, job_refs, written
from tests.projecting.mishaps import Mishaps
from tests.projecting.poison import add

pytestmark = pytest.mark.database

JOBS = Jobs()


class CrashingJobs(Jobs):
    """Cannot fold that a gate has opened."""

    @override
    def fold(
        self, key: Key, row: JobRow | None, recorded: RecordedEvent
    ) -> JobRow | None:
        if recorded.tag == Unparked.tag:
            msg = "s3cret"
            raise RuntimeError(msg)
        return super().fold(key, row, recorded)


@pytest.fixture
def opened(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=2) as opened:
        yield opened


@pytest.fixture
def store(opened: Database) -> BatchStore:
    return BatchStore(opened)


@pytest.fixture
def projector(opened: Database) -> Projector:
    return Projector(opened)


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def to_the_end(projector: Projector, projection: Jobs = JOBS) -> list[Advanced]:
    told: list[Advanced] = []
    while (one := projector.advance(projection)).state is State.ADVANCED:
        told.append(one)
    assert one.state is State.UP_TO_DATE
    return told


def aside(connection: psycopg.Connection[Any]) -> list[tuple[int, str]]:
    return connection.execute(
        """
        SELECT position, reason
          FROM counterfoil.projection_set_aside
         WHERE projection = 'jobs' AND slot = 'a'
         ORDER BY position
        """
    ).fetchall()


def states(connection: psycopg.Connection[Any]) -> Mapping[UUID, object]:
    rows = rows_of(connection, JOBS, "a")
    return {row["stream_id"]: row["state"] for row in rows.values()}  # type: ignore[misc]


class Unread(NamedTuple):
    """An event that cannot be decoded, and what the reason says."""

    tag: str
    schema: int
    data: str
    reason: str


UNREAD = [
    Unread("job.dreamt", 1, "{}", "job.dreamt with schema 1"),
    Unread("job.claimed", 9, "{}", "job.claimed with schema 9"),
    Unread("job.unparked", 1, '{"run_at": "s3cret"}', "$.run_at"),
]


@pytest.mark.parametrize("unread", UNREAD, ids=["unknown", "newer", "unfit"])
def test_what_cannot_be_decoded_is_set_aside_with_all_that_follows_in_its_stream(
    unread: Unread,
    projector: Projector,
    store: BatchStore,
    connection: psycopg.Connection[Any],
) -> None:
    bad, good = refs = job_refs(2)
    written(store.commit([births(refs)]))
    first = add(
        connection, bad.id, tag=unread.tag, schema=unread.schema, data=unread.data
    )
    same_batch = add(connection, bad.id)
    written(store.commit([appending([good], CLAIM)]))
    told = to_the_end(projector)
    later = add(connection, bad.id)
    written(store.commit([appending([good], SUCCESS)]))
    to_the_end(projector)

    assert [each.set_aside for each in told] == [2]
    (why, *behind) = aside(connection)
    assert why[0] == first
    assert unread.reason in why[1]
    assert "s3cret" not in why[1]
    assert behind == [(same_batch, f"behind {first}"), (later, f"behind {first}")]
    assert states(connection) == {bad.id: "waiting", good.id: "succeeded"}


def test_a_tag_of_another_family_concerns_nobody(
    projector: Projector, connection: psycopg.Connection[Any]
) -> None:
    add(connection, tag="dream.dreamt", data="{}")

    (told,) = to_the_end(projector)

    assert (told.set_aside, aside(connection)) == (0, [])


def test_a_fold_that_raises_is_set_aside_without_its_words(
    projector: Projector, store: BatchStore, connection: psycopg.Connection[Any]
) -> None:
    bad, good = refs = job_refs(2)
    written(store.commit([births(refs)]))
    position = add(connection, bad.id)
    written(store.commit([appending([good], CLAIM)]))

    to_the_end(projector, CrashingJobs())

    ((at, reason),) = aside(connection)
    assert at == position
    assert reason.startswith("RuntimeError at test_poison.py:")
    assert states(connection) == {bad.id: "waiting", good.id: "running"}


@pytest.mark.parametrize("n", [0, 3, 7])
def test_a_row_that_the_table_refuses_is_found_by_halving(
    n: int,
    projector: Projector,
    store: BatchStore,
    connection: psycopg.Connection[Any],
) -> None:
    refs = job_refs(8)
    written(store.commit([births(refs)]))
    connection.execute(
        f"""
        ALTER TABLE counterfoil.read_jobs_a
          ADD CONSTRAINT not_this_one CHECK (stream_id <> '{refs[n].id}')
        """
    )

    to_the_end(projector)

    ((position, reason),) = aside(connection)
    assert position == n + 1
    assert "not_this_one" in reason
    assert set(states(connection)) == {ref.id for ref in refs if ref != refs[n]}


def test_what_was_refused_as_a_whole_is_not_written_as_a_whole_again(
    store: BatchStore, database: TestDatabase
) -> None:
    connection = database.connect()
    refs = job_refs(64)
    written(store.commit([births(refs)]))
    connection.execute(
        f"""
        ALTER TABLE counterfoil.read_jobs_a
          ADD CONSTRAINT not_this_one CHECK (stream_id <> '{refs[62].id}')
        """
    )
    mishaps = Mishaps(database.conninfo)
    writes = mishaps.count('INSERT INTO "counterfoil"."read_jobs_a"')

    told = to_the_end(Projector(mishaps))
    mishaps.close()

    assert [position for position, _ in aside(connection)] == [63]
    assert told[0].position == 32
    # The whole, then a half each time; the last one goes by itself.
    assert len(writes) <= 2 * 6 + 2


def test_a_value_that_no_column_holds_is_set_aside(
    projector: Projector, store: BatchStore, connection: psycopg.Connection[Any]
) -> None:
    (good,) = job_refs(1)
    data = '{"kind": "k", "queue": "q", "priority": 99999, "args": {}, "unique_key": null, "serial_key": null, "serial_order": 0, "run_at": "2026-01-01T00:00:00Z", "max_attempts": null, "deadline": null}'  # noqa: E501 - as it is stored
    position = add(connection, tag="job.enqueued", data=data)
    written(store.commit([births([good])]))

    to_the_end(projector)

    assert [at for at, _ in aside(connection)] == [position]
    assert set(states(connection)) == {good.id}


def test_a_table_that_lacks_a_column_blames_no_event(
    opened: Database, store: BatchStore, connection: psycopg.Connection[Any]
) -> None:
    written(store.commit([births(job_refs(1))]))
    projector = Projector(opened)
    connection.execute("ALTER TABLE counterfoil.read_jobs_a DROP COLUMN gate")

    with pytest.raises(ReadModelMismatchError, match="lacks gate"):
        projector.advance(JOBS)

    assert aside(connection) == []


def test_resumed_a_stream_is_folded_anew_up_to_the_checkpoint(
    projector: Projector, store: BatchStore, connection: psycopg.Connection[Any]
) -> None:
    bad, good = refs = job_refs(2)
    written(store.commit([births(refs)]))
    written(store.commit([appending(refs, CLAIM)]))
    add(connection, bad.id)
    to_the_end(projector, CrashingJobs())
    written(store.commit([appending([good], SUCCESS)]))
    still = projector.resume(CrashingJobs())

    resumed = projector.resume(JOBS)

    assert (still.state, still.tried, still.left) == (State.ADVANCED, 1, 1)
    assert (resumed.state, resumed.tried, resumed.left) == (State.ADVANCED, 1, 0)
    assert projector.resume(JOBS).state is State.UP_TO_DATE
    assert_read_model_holds(connection, JOBS)
    to_the_end(projector)
    assert_read_model_holds(connection, JOBS)


def test_resumed_a_row_that_is_still_refused_is_left_as_it_was_before(
    projector: Projector, store: BatchStore, connection: psycopg.Connection[Any]
) -> None:
    bad, good = refs = job_refs(2)
    written(store.commit([births(refs)]))
    written(store.commit([appending(refs, CLAIM)]))
    position = add(connection, bad.id)
    add(connection, bad.id)
    to_the_end(projector, CrashingJobs())
    connection.execute(
        """
        ALTER TABLE counterfoil.read_jobs_a
          ADD CONSTRAINT no_third_version CHECK (version < 3)
        """
    )

    resumed = projector.resume(JOBS)

    assert (resumed.tried, resumed.left) == (2, 2)
    (first, second) = aside(connection)
    assert (first[0], second[1]) == (position, f"behind {position}")
    assert "no_third_version" in first[1]
    assert states(connection) == {bad.id: "running", good.id: "running"}
