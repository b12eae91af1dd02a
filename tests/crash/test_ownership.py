"""Who holds a job when its worker is frozen, killed, stopped or cut off.

Scenarios S1, S3, S4 and S7, with real processes.
"""

import signal
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Gate,
    Start,
    enqueue,
    facts,
    history,
    is_over,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

PAST_A_LEASE = timedelta(seconds=61)
POLITE_STOPS = 5


def let_the_server_age(database: TestDatabase) -> None:
    """No lease is rescued within one lease of the server's start."""
    database.advance(timedelta(minutes=10))


def test_s1_a_late_finisher_changes_nothing(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    """I4: everything that a superseded holder writes is refused whole."""
    let_the_server_age(database)
    connection = database.connect()
    a = start_worker()
    job = enqueue(connection, "slow")
    first = gate.wait_call(pid=a.pid)
    a.freeze()

    database.advance(PAST_A_LEASE)
    b = start_worker()
    second = gate.wait_call(pid=b.pid)
    a.thaw()
    first.answer("complete")
    a.events.wait_for("lease lost", job=str(job))

    assert second.job == first.job == job
    assert second.token > first.token
    assert history(connection, job) == [
        "enqueued",
        "claimed",
        "lease_expired",
        "claimed",
    ]
    second.answer("complete")
    until(lambda: is_over(connection))
    assert history(connection, job)[3:] == ["claimed", "succeeded"]
    (success,) = facts(connection, job, "job.succeeded")
    assert success["token"] == second.token
    assert a.is_alive()


def test_s3_a_heartbeat_that_is_cut_off_comes_back_within_the_lease(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    let_the_server_age(database)
    connection = database.connect()
    start_worker(heartbeat_seconds=0.5)
    start_worker(queues={"bulk": 1})  # rescues, and claims nothing of this queue
    job = enqueue(connection, "slow")
    call = gate.wait_call()

    for _ in range(5):
        until(lambda: end_heartbeats(connection))
        (ended_at,) = connection.execute("SELECT counterfoil.now()").fetchall()[0]
        until(partial(has_beaten, connection, ended_at))
        database.advance(timedelta(seconds=25))  # 125 s in all, over a lease of 60

    assert history(connection, job) == ["enqueued", "claimed"]
    call.answer()
    until(lambda: is_over(connection))
    assert history(connection, job) == ["enqueued", "claimed", "succeeded"]


def end_heartbeats(connection: psycopg.Connection[Any]) -> bool:
    """End the server's side of the workers' heartbeats."""
    ended = connection.execute(
        """
        SELECT pg_terminate_backend(pid)
          FROM pg_stat_activity
         WHERE application_name = 'counterfoil heartbeat'
           AND datname = current_database()
        """
    ).fetchall()
    return len(ended) > 0


def has_beaten(connection: psycopg.Connection[Any], since: object) -> bool:
    """Return whether the lease of the only job was confirmed after `since`."""
    rows = connection.execute(
        "SELECT beat_at > %s FROM counterfoil.jobs", (since,)
    ).fetchall()
    return rows == [(True,)]


def test_s4_a_successor_of_the_same_name_inherits_nothing(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    let_the_server_age(database)
    connection = database.connect()
    a = start_worker()
    jobs = {enqueue(connection, "slow") for _ in range(3)}
    tokens = {call.job: call.token for call in (gate.wait_call() for _ in jobs)}
    a.kill()

    b = start_worker()
    connection.execute('SELECT counterfoil.enqueue(\'{"kind": "noop"}\')')
    b.events.wait_for("jobs settled")  # it works, and leaves those three alone
    assert {history(connection, job)[-1] for job in jobs} == {"claimed"}

    database.advance(PAST_A_LEASE)
    calls = [gate.wait_call(pid=b.pid) for _ in jobs]
    assert {call.job for call in calls} == jobs
    assert all(call.token > tokens[call.job] for call in calls)
    assert {call.attempt for call in calls} == {1}
    (lost,) = facts(connection, calls[0].job, "job.lease_expired")
    assert lost["cause"] == "process_gone"
    for call in calls:
        call.answer()
    until(lambda: is_over(connection))


@pytest.mark.parametrize("n", range(POLITE_STOPS))
def test_s7_a_polite_stop_costs_no_attempt(
    n: int, database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    """I3: unfinished jobs go back with their attempt, and start elsewhere at once."""
    polite_stop(database, start_worker, gate, grace_seconds=3.0 if n == 0 else 0.1)


@pytest.mark.campaign
@pytest.mark.parametrize("n", range(50))
def test_s7_fifty_polite_stops_cost_no_attempt(
    n: int, database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    del n
    polite_stop(database, start_worker, gate, grace_seconds=3.0)


def polite_stop(
    database: TestDatabase, start_worker: Start, gate: Gate, grace_seconds: float
) -> None:
    connection = database.connect()
    a = start_worker(grace_seconds=grace_seconds)
    jobs = {enqueue(connection, "slow") for _ in range(5)}
    for _ in jobs:
        gate.wait_call(pid=a.pid)
    b = start_worker()

    a.signal(signal.SIGTERM)
    calls = [gate.wait_call(pid=b.pid) for _ in jobs]

    assert a.wait_exit() == 0
    assert a.events.of("worker stopped")
    assert {call.job for call in calls} == jobs
    assert {call.attempt for call in calls} == {1}
    for job in jobs:
        (released,) = facts(connection, job, "job.released")
        assert released["attempt"] == 0
        assert released["cause"] == "shutdown"
    for call in calls:
        call.answer()
    until(lambda: is_over(connection))
    assert {history(connection, job)[-1] for job in jobs} == {"succeeded"}
