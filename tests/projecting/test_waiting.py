"""A read that waits for a position shows what was there, or says why it cannot."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from application.front_door import Enqueued
from infrastructure.client import Client
from infrastructure.leadership import Leadership
from infrastructure.postgres.database import Database, transaction
from infrastructure.processor.identity import this_process
from infrastructure.projecting.behind import (
    NotReachedError,
    OutdatedError,
    PausedError,
    PositionAheadError,
)
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.waiting import LivePositions, at_least
from projections.read_models.jobs import Jobs
from projections.reading import AtLeast, UnknownProjectionError, reading
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project

pytestmark = pytest.mark.database

JOBS = Jobs()
STATE = "SELECT state FROM {} WHERE stream_id = %s"
SWAP = "UPDATE counterfoil.projections SET live = 'b' WHERE name = 'jobs'"
PAUSE = """
UPDATE counterfoil.projections
   SET paused_at = counterfoil.now(), paused_by = 'ann', paused_reason = 'looks odd'
 WHERE name = 'jobs'
"""
PATIENCE_S = 30.0


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    """One connection: whoever kept it while he waits would wait for himself."""
    with Database(database.conninfo, pool_size=1) as pool:
        yield pool


@pytest.fixture
def apart() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def enqueue(connection: psycopg.Connection[Any]) -> Enqueued:
    return Client(connection).enqueue("report", {"n": 1})


def seen(pool: Database, job: UUID, wanted: AtLeast) -> str | None:
    """Return the job's state as the read model shows it, at that position at least."""
    with reading(pool.connection, "jobs", at_least=wanted) as look:
        assert look.position >= wanted.position
        query = sql.SQL(STATE).format(look.table)
        row = look.connection.execute(query, (job,)).fetchone()
    return None if row is None else str(row[0])


def seen_soon(
    apart: ThreadPoolExecutor, pool: Database, answer: Enqueued
) -> Future[str | None]:
    """Return what a reader will see, who asks for the position of an answer."""
    wanted = at_least(pool.connection, answer.position, PATIENCE_S)
    return apart.submit(seen, pool, answer.job_id, wanted)


def test_a_reader_who_waits_sees_what_the_answer_told(
    database: TestDatabase, pool: Database, apart: ThreadPoolExecutor
) -> None:
    answer = enqueue(database.connect())

    reader = seen_soon(apart, pool, answer)
    project(pool, [JOBS])

    assert reader.result(PATIENCE_S) == "waiting"


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_who_holds_the_feed_back_is_waited_for(
    database: TestDatabase, pool: Database, apart: ThreadPoolExecutor, end: str
) -> None:
    slow = database.connect()
    slow.execute("BEGIN")
    early = enqueue(slow)
    answer = enqueue(database.connect())
    assert answer.position > early.position

    reader = seen_soon(apart, pool, answer)
    project(pool, [JOBS])
    assert not reader.done()
    slow.execute(end)
    project(pool, [JOBS])

    assert reader.result(PATIENCE_S) == "waiting"
    found = seen(pool, early.job_id, at_least(pool.connection, answer.position))
    assert (found is not None) == (end == "COMMIT")


def test_whatever_order_transactions_end_in_each_one_sees_its_own(
    database: TestDatabase, apart: ThreadPoolExecutor
) -> None:
    is_over = threading.Event()
    another = threading.Semaphore(0)
    """Released by each commit."""

    def write(number: int, readers: Database) -> list[str | None]:
        found: list[str | None] = []
        connection = database.connect()
        for turn in range(8):
            with transaction(connection):
                answer = enqueue(connection)
                if (turn + number) % 3 == 0:
                    # Holds the others back until one of them has committed, if any.
                    another.acquire(timeout=0.05)
            another.release()
            wanted = at_least(readers.connection, answer.position)
            found.append(seen(readers, answer.job_id, wanted))
        return found

    def follow(projector: Projector) -> None:
        while not is_over.wait(0.002):
            projector.advance(JOBS, most=3)

    with (
        Database(database.conninfo, pool_size=8) as pool,
        Database(database.conninfo, pool_size=2) as mine,
    ):
        follower = apart.submit(follow, Projector(mine))
        writers = [apart.submit(write, number, pool) for number in range(4)]
        try:
            told = [writer.result(PATIENCE_S) for writer in writers]
        finally:
            is_over.set()
        follower.result(PATIENCE_S)

    assert told == [["waiting"] * 8] * 4


def test_a_swap_to_rows_that_are_less_far_is_waited_out(
    database: TestDatabase, pool: Database
) -> None:
    answer = enqueue(database.connect())
    turns: list[str] = []

    def wait(projection: str, position: int) -> None:
        project(pool, [JOBS])
        if not turns:
            database.connect().execute(SWAP)
        turns.append(f"{projection} at {position}")

    found = seen(pool, answer.job_id, AtLeast(answer.position, wait))

    assert found == "waiting"
    assert turns == ["jobs at 1"] * 2


def test_a_swap_while_somebody_waits_is_followed(
    database: TestDatabase, pool: Database, apart: ThreadPoolExecutor
) -> None:
    answer = enqueue(database.connect())

    reader = seen_soon(apart, pool, answer)
    database.connect().execute(SWAP)
    project(pool, [JOBS])

    assert reader.result(PATIENCE_S) == "waiting"


def test_what_is_there_already_needs_nobody(
    database: TestDatabase, pool: Database
) -> None:
    answer = enqueue(database.connect())
    project(pool, [JOBS])
    database.connect().execute(PAUSE)

    found = seen(pool, answer.job_id, at_least(pool.connection, answer.position, 0))

    assert found == "waiting"


def test_a_paused_one_is_told_at_once_also_to_who_waits_already(
    database: TestDatabase, pool: Database, apart: ThreadPoolExecutor
) -> None:
    answer = enqueue(database.connect())
    reader = seen_soon(apart, pool, answer)

    database.connect().execute(PAUSE)

    with pytest.raises(PausedError) as refused:
        reader.result(PATIENCE_S)
    told = refused.value
    assert (told.projection, told.asked, told.reached) == ("jobs", answer.position, 0)
    assert "paused by ann at 20" in str(told)
    assert "(looks odd); `counterfoil projections resume jobs`" in str(told)


def test_rows_of_other_code_are_told_at_once(
    database: TestDatabase, pool: Database
) -> None:
    answer = enqueue(database.connect())
    database.connect().execute(
        "UPDATE counterfoil.projections SET schema = 7 WHERE name = 'jobs'"
    )

    with pytest.raises(OutdatedError, match=r"of schema 7.*projections rebuild jobs"):
        seen(pool, answer.job_id, at_least(pool.connection, answer.position))


def test_a_position_that_nothing_has_is_refused_at_once(
    database: TestDatabase, pool: Database
) -> None:
    answer = enqueue(database.connect())
    wanted = at_least(pool.connection, answer.position + 1)

    with pytest.raises(PositionAheadError, match="beyond the log, which reaches 1;"):
        seen(pool, answer.job_id, wanted)


def test_in_vain_is_told_with_who_holds_back(
    database: TestDatabase, pool: Database
) -> None:
    slow = database.connect()
    slow.execute("BEGIN")
    enqueue(slow)
    answer = enqueue(database.connect())
    project(pool, [JOBS])

    with pytest.raises(NotReachedError) as refused:
        seen(pool, answer.job_id, at_least(pool.connection, answer.position, 0))

    told = str(refused.value)
    assert "jobs is at position 0 of the log, not yet at 2: waited for 0 s" in told
    assert f"the transaction of pid {slow.info.backend_pid} (counterfoil)" in told
    assert told.endswith("`counterfoil projections holders` names it")
    slow.execute("ROLLBACK")


def test_in_vain_is_told_when_nobody_projects_and_when_somebody_does(
    database: TestDatabase, pool: Database
) -> None:
    answer = enqueue(database.connect())

    with pytest.raises(NotReachedError, match="no process runs projections; start"):
        seen(pool, answer.job_id, at_least(pool.connection, answer.position, 0))
    owner = this_process()
    Leadership(owner).stand(database.connect(), ["projection:jobs"])
    with pytest.raises(NotReachedError, match=f"process {owner.pid} on .* ask again"):
        seen(pool, answer.job_id, at_least(pool.connection, answer.position, 0))


def test_a_projection_that_there_is_not_is_told(pool: Database) -> None:
    with pytest.raises(UnknownProjectionError, match="counterfoil migrate"):
        LivePositions(pool.connection, "nothing").wait("counterfoil", 1)
