"""S16: never more of one key at once than its limit, whoever dies in between."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.overlaps import Overlaps, most_at_once
from tests.fixtures.workers import (
    Call,
    Gate,
    Start,
    WorkerProcess,
    is_over,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

JOBS = 200
KILLED, STOPPED = 60, 120
"""Of these jobs the holder is killed, or asked to stop."""
PAST_A_LEASE = timedelta(seconds=61)
KEY = "one-account"


def ask(connection: psycopg.Connection[Any], limit: int) -> None:
    connection.execute(
        """
        SELECT count(*) FROM counterfoil.enqueue_many(ARRAY(
            SELECT jsonb_build_object(
                       'kind', 'spanning', 'serialKey', %s::text,
                       'concurrencyLimit', %s::int,
                       'args', jsonb_build_object(
                           'n', CASE WHEN n = ANY(%s) THEN -n ELSE n END))
              FROM generate_series(1, %s) n ORDER BY n))
        """,
        (KEY, limit, [KILLED, STOPPED], JOBS),
    )


def done(connection: psycopg.Connection[Any]) -> int:
    rows = connection.execute(
        "SELECT count(*) FROM counterfoil.events WHERE type = 'job.succeeded'"
    )
    return int(rows.fetchall()[0][0])


def is_done(connection: psycopg.Connection[Any], n: int) -> bool:
    return done(connection) >= n


def slots_of(connection: psycopg.Connection[Any], pid: int) -> int:
    """Return how many slots of the key a process holds."""
    rows = connection.execute(
        """
        SELECT count(*)
          FROM counterfoil.running_keys r
          JOIN counterfoil.jobs j ON j.stream_id = r.job_id AND j.token = r.token
         WHERE r.key = %s AND j.owner_pid = %s
        """,
        (KEY, pid),
    )
    return int(rows.fetchall()[0][0])


@contextmanager
def sampled(database: TestDatabase) -> Iterator[list[int]]:
    """Look all the time how many jobs run, and how many slots are taken."""
    seen: list[int] = []
    over = threading.Event()

    def look() -> None:
        with psycopg.connect(database.conninfo, autocommit=True) as connection:
            while not over.is_set():
                row = connection.execute(
                    """
                    SELECT greatest(
                        (SELECT count(*) FROM counterfoil.jobs
                          WHERE state = 'running' AND serial_key = %(key)s),
                        (SELECT count(*) FROM counterfoil.running_keys
                          WHERE key = %(key)s))
                    """,
                    {"key": KEY},
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


@dataclass
class Installation:
    """Worker processes that write down what they run, and who of them lives."""

    database: TestDatabase
    start: Start
    gate: Gate
    ledger: Overlaps
    alive: dict[int, WorkerProcess] = field(default_factory=dict[int, WorkerProcess])

    def begin(self) -> None:
        worker = self.start(spans=str(self.ledger.folder), queues={"default": 4})
        self.alive[worker.pid] = worker

    def kill_a_holder(self, connection: psycopg.Connection[Any], limit: int) -> Call:
        """Return the run whose process was killed; its lease is over."""
        killed = self.gate.wait_call()
        self.alive.pop(killed.pid).kill()
        self.ledger.died(killed.pid)
        if slots_of(connection, killed.pid) < limit:
            # Its slots are held until its leases end; in the others work goes on.
            until(partial(is_done, connection, done(connection) + 20))
        self.database.advance(PAST_A_LEASE)
        self.begin()
        return killed

    def stop_a_holder(self, killed: Call, limit: int) -> None:
        """Stop a worker politely in the middle of a run, and let that one end.

        What was killed runs again behind those that have waited for longer, or beside.
        """
        calls = [self.gate.wait_call() for _ in range(min(limit, 2))]
        stopped = next(it for it in calls if it.job != killed.job)
        worker = self.alive.pop(stopped.pid)
        worker.signal(signal.SIGTERM)
        for call in calls:
            call.answer()
        assert worker.wait_exit() == 0
        self.begin()
        if len(calls) == 1:
            self.gate.wait_call(job=killed.job).answer()


@pytest.mark.parametrize("limit", [1, 3])
def test_s16_a_limit_is_exact_whoever_is_killed_or_stopped(
    limit: int,
    database: TestDatabase,
    start_worker: Start,
    gate: Gate,
    tmp_path: Path,
) -> None:
    """By the log, by looking all the time, and by what the handlers wrote down."""
    database.advance(timedelta(minutes=10))
    connection = database.connect()
    ledger = Overlaps(tmp_path / "spans")
    workers = Installation(database, start_worker, gate, ledger)
    for _ in range(limit + 1):
        workers.begin()

    with sampled(database) as seen:
        ask(connection, limit)
        killed = workers.kill_a_holder(connection, limit)
        workers.stop_a_holder(killed, limit)
        until(lambda: is_over(connection))

    assert done(connection) == JOBS
    assert JOBS < ledger.runs() <= JOBS + limit  # what was killed began twice
    assert most_at_once(connection) == {KEY: limit}
    assert ledger.most() <= limit
    assert len(seen) > JOBS / 4
    assert max(seen) == limit
    assert longest_pause(connection) < PAST_A_LEASE + timedelta(seconds=30)


def longest_pause(connection: psycopg.Connection[Any]) -> timedelta:
    """Return the longest time between two claims, by the database's clock."""
    rows = connection.execute(
        """
        SELECT max(pause)
          FROM (SELECT recorded_at - lag(recorded_at) OVER (ORDER BY position) AS pause
                  FROM counterfoil.events
                 WHERE type = 'job.claimed') pauses
        """
    )
    pause = rows.fetchall()[0][0]
    assert isinstance(pause, timedelta)
    return pause
