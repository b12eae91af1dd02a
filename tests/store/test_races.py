"""Units that meet: one lock order, and bounded repetitions (mechanisms 7)."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from application.unit import Group, Locked, Result, Written
from domain.event import Instant
from domain.jobs.aggregate import Job, Stage, decide
from domain.jobs.events import JobEvent, Released
from domain.stream import Change, Ref
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import REPEATS, BatchStore
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import until
from tests.store.groups import CLAIM, births, job_birth, operation_birth, step, tags

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

THREADS = 4
BATCHES = 12
UNTIL = datetime(2026, 1, 1, tzinfo=UTC)


def toggle(job: Job) -> tuple[JobEvent, ...]:
    """Claim a waiting job, release a running one."""
    if job.stage is Stage.WAITING:
        return decide(job, CLAIM)
    assert job.token is not None
    return (Released(attempt=0, token=job.token, until=UNTIL, cause="test"),)


def deadlocks(connection: psycopg.Connection[Any]) -> int:
    connection.execute("SELECT pg_stat_clear_snapshot()")
    (row,) = connection.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchall()
    return int(row[0])


def test_overlapping_batches_in_any_order_never_deadlock(
    database: TestDatabase, store: BatchStore
) -> None:
    jobs = [job_birth() for _ in range(24)]
    store.commit([births(each) for each in jobs])
    start = threading.Barrier(THREADS)

    def run(seed: int) -> list[Result]:
        dice = random.Random(seed)  # noqa: S311 - a repeatable order
        results: list[Result] = []
        start.wait(30)
        for _ in range(BATCHES):
            refs = [each.ref for each in dice.sample(jobs, 12)]
            groups = [step(*refs[n : n + 3], make=toggle) for n in range(0, 12, 3)]
            results += store.commit(groups)
        return results

    with ThreadPoolExecutor(THREADS) as threads:
        answers = list(threads.map(run, range(THREADS)))

    connection = database.connect()
    assert all(isinstance(each, Written) for one in answers for each in one)
    assert deadlocks(connection) == 0
    events = tags(connection, *(each.ref for each in jobs))
    assert len(events) == len(jobs) + THREADS * BATCHES * 12


def test_heads_are_locked_kind_by_kind_and_then_by_id(
    database: TestDatabase, store: BatchStore
) -> None:
    """A unit that waits for one head holds only those before it."""
    first, second = sorted((job_birth(), job_birth()), key=lambda each: each.ref)
    operation = operation_birth()
    store.commit([births(second, first, operation)])
    holding, connection = database.connect(), database.connect()
    with holding.transaction():
        lock(holding, first.ref)
        waiting = threading.Thread(
            target=store.commit,
            args=([step(second.ref, make=toggle), looking_at(operation, first)],),
        )
        waiting.start()
        wait_until_blocked(connection)

        with pytest.raises(psycopg.errors.LockNotAvailable), connection.transaction():
            lock(connection, operation.ref, "NOWAIT", "operations")
        with connection.transaction():
            lock(connection, second.ref, "NOWAIT")
    waiting.join(30)
    assert len(tags(connection, second.ref)) == 2


def looking_at(*changes: Change) -> Group:
    def decide_nothing(_locked: Locked, _now: Instant) -> tuple[Change, ...]:
        return ()

    refs = tuple(each.ref for each in changes)
    return Group(refs=refs, decide=decide_nothing, meta=births().meta)


def lock(
    connection: psycopg.Connection[Any], ref: Ref, how: str = "", table: str = "jobs"
) -> None:
    connection.execute(
        f"SELECT 1 FROM counterfoil.{table} WHERE stream_id = %s FOR UPDATE {how}",  # noqa: S608 - a table's and a mode's name
        (ref.id,),
    )


def wait_until_blocked(connection: psycopg.Connection[Any]) -> None:
    until(
        lambda: connection.execute(
            """
            SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        ).fetchone()
    )


def lose_races(database: TestDatabase, state: str, times: int) -> None:
    """Let the next `times` transactions that append fail with an SQLSTATE."""
    connection = database.connect()
    connection.execute("CREATE SEQUENCE counterfoil.test_races")
    connection.execute(
        f"""
        CREATE FUNCTION counterfoil.test_lose() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('counterfoil.test_races') <= {times} THEN
                RAISE EXCEPTION 'lost' USING ERRCODE = '{state}';
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER test_lose AFTER INSERT ON counterfoil.events
            FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.test_lose()
        """
    )


@pytest.mark.parametrize("state", ["40001", "40P01", "55P03"])
def test_a_lost_race_is_repeated_until_it_is_won(
    state: str, database: TestDatabase, store: BatchStore
) -> None:
    lose_races(database, state, REPEATS)
    job = job_birth()

    (result,) = store.commit([births(job)])

    assert isinstance(result, Written)
    assert tags(database.connect(), job.ref) == ["job.enqueued"]


def test_a_race_that_is_always_lost_is_given_up_and_nothing_is_written(
    database: TestDatabase, store: BatchStore
) -> None:
    lose_races(database, "40001", 1_000)
    job = job_birth()

    with pytest.raises(DatabaseUnavailableError):
        store.commit([births(job)])

    connection = database.connect()
    assert tags(connection, job.ref) == []
    tries = connection.execute("SELECT last_value FROM counterfoil.test_races")
    assert tries.fetchone() == (REPEATS + 1,)


def test_a_taken_key_is_answered_at_once(
    database: TestDatabase, store: BatchStore
) -> None:
    """Only a unit whose answer was lost has a reason to try a taken key again."""
    store.commit([births(job_birth(unique_key="u"))])
    lose_races(database, "40001", 0)
    asked = []
    twin = job_birth(unique_key="u")

    def decide_once_more(_locked: Locked, _now: Instant) -> tuple[Change, ...]:
        asked.append(twin)
        return (twin,)

    store.commit([Group(refs=(), decide=decide_once_more, meta=births().meta)])

    assert len(asked) == 1
