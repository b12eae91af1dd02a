"""S16 for whole queues: never more than the limit, whoever is killed or frozen."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.crash.test_database_restart import OwnServer
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Call,
    Gate,
    Start,
    WorkerProcess,
    enqueue,
    history,
    is_over,
    until,
)
from tests.processor.holds.conftest import Desk, desk_over

pytestmark = [pytest.mark.crash]

JOBS = 120
KILLED, FROZEN = 30, 70
"""Of these jobs the holder is killed, or stands still for longer than its lease."""
PAST_A_LEASE = timedelta(seconds=61)


def ask(connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        """
        SELECT count(*) FROM counterfoil.enqueue_many(ARRAY(
            SELECT jsonb_build_object(
                       'kind', CASE WHEN n = ANY(%s) THEN 'slow' ELSE 'noop' END)
              FROM generate_series(1, %s) n ORDER BY n))
        """,
        ([KILLED, FROZEN], JOBS),
    )


@contextmanager
def sampled(database: TestDatabase) -> Iterator[list[int]]:
    """Look all the time how many jobs run."""
    seen: list[int] = []
    over = threading.Event()

    def look() -> None:
        with psycopg.connect(database.conninfo, autocommit=True) as connection:
            while not over.is_set():
                row = connection.execute(
                    "SELECT count(*) FROM counterfoil.jobs WHERE state = 'running'"
                ).fetchone()
                assert row is not None
                seen.append(row[0])

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def most_by_the_log(connection: psycopg.Connection[Any]) -> int:
    """Return how many jobs ran at once, by what was committed."""
    row = connection.execute(
        """
        SELECT max(n)
          FROM (SELECT sum(CASE WHEN type = 'job.claimed' THEN 1 ELSE -1 END)
                           OVER (ORDER BY position) AS n
                  FROM counterfoil.events
                 WHERE type IN ('job.claimed', 'job.succeeded', 'job.attempt_failed',
                                'job.lease_expired', 'job.released')) running
        """
    ).fetchone()
    assert row is not None
    return int(row[0])


class Crew:
    """Worker processes, by their pids."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self.alive: dict[int, WorkerProcess] = {}

    def begin(self) -> None:
        worker = self._start(queues={"default": 4})
        self.alive[worker.pid] = worker


@pytest.mark.usefixtures("heads_equal_folds")
@pytest.mark.parametrize("limit", [1, 3])
def test_s16_a_queues_limit_is_exact_whoever_is_killed_or_frozen(
    limit: int, database: TestDatabase, start_worker: Start, gate: Gate, desk: Desk
) -> None:
    database.advance(timedelta(minutes=10))
    desk.limit(limit)
    crew = Crew(start_worker)
    for _ in range(3):
        crew.begin()

    with sampled(database) as seen:
        ask(desk.connection)
        killed = gate.wait_call()
        crew.alive.pop(killed.pid).kill()
        database.advance(PAST_A_LEASE)
        crew.begin()
        frozen = next_call(gate, lambda call: call.job != killed.job)
        crew.alive[frozen.pid].freeze()
        database.advance(PAST_A_LEASE)
        replaced = next_call(gate, lambda call: call.job == frozen.job)
        crew.alive[frozen.pid].thaw()
        replaced.answer()
        frozen.answer()
        until(partial(let_all_go, desk.connection, gate))

    assert max(seen) == limit
    assert most_by_the_log(desk.connection) == limit


def next_call(gate: Gate, is_wanted: Callable[[Call], bool]) -> Call:
    """Return the next call that is wanted; whoever calls before it is let go."""
    call = gate.wait_call()
    while not is_wanted(call):
        call.answer()
        call = gate.wait_call()
    return call


def let_all_go(connection: psycopg.Connection[Any], gate: Gate) -> bool:
    """Let go whoever calls again; return whether all is over."""
    with suppress(AssertionError):
        gate.wait_call(0.05).answer()
    return is_over(connection)


def test_a_pause_that_was_answered_holds_after_the_servers_crash(
    own_server: OwnServer,
) -> None:
    """And so does a limit: both are rows, committed before the answer."""
    with desk_over(TestDatabase(own_server.uri)) as desk:
        desk.limit(2, "bulk")
        desk.pause()
        desk.database.close()
    own_server.restart(signal.SIGQUIT)

    database = TestDatabase(own_server.uri)
    worker = WorkerProcess(own_server.uri)
    try:
        connection = database.connect()
        worker.wait_ready()
        job = enqueue(connection, "noop")
        other = enqueue(connection, "noop", queue="bulk")
        until(lambda: history(connection, other)[-1] == "succeeded")
        assert history(connection, job) == ["enqueued"]
        rows = connection.execute("SELECT concurrency FROM counterfoil.queues")
        assert sorted(rows, key=str) == [(2,), (None,)]
    finally:
        worker.close()
        database.close()
