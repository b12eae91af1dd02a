"""S6: a job that ends its process harms no other, and is dead after three of them."""

import signal
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import (
    Gate,
    Start,
    WorkerProcess,
    enqueue,
    facts,
    history,
    is_over,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

PAST_A_LEASE = timedelta(seconds=61)
CLAIM = "'job.claimed'"
EXPIRY = "job.lease_expired"


@pytest.fixture(autouse=True)
def _old_server(database: TestDatabase) -> None:
    """No lease is rescued within one lease of the server's start."""
    database.advance(timedelta(minutes=10))


def is_dead(connection: psycopg.Connection[Any], job: UUID) -> bool:
    return history(connection, job)[-1] == "discarded"


def poison(connection: psycopg.Connection[Any], way: str = "exits") -> UUID:
    return enqueue(connection, "lawless", args={"way": way})


def die_in_company(
    database: TestDatabase, start: Start, gate: Gate, way: str = "exits"
) -> UUID:
    """Return a job whose worker has died of it, rescued by nobody yet."""
    job = poison(database.connect(), way)
    worker = start()
    gate.wait_call(job=job).answer()
    worker.wait_exit()
    return job


WAYS = {"exits": 7, "segfaults": -signal.SIGSEGV, "kills_itself": -signal.SIGKILL}


@pytest.mark.parametrize("way", WAYS)
def test_s6_three_processes_die_of_it_and_no_other_job_is_harmed(
    way: str, database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    a = start_worker()
    good = [enqueue(connection, "slow") for _ in range(3)]
    first = {gate.wait_call(job=job).job for job in good}
    bad = poison(connection, way)
    gate.wait_call(job=bad, pid=a.pid).answer()
    assert a.wait_exit() == WAYS[way]

    b = start_worker()
    database.advance(PAST_A_LEASE)
    for n in (1, 2):
        gate.wait_call(job=bad, attempt=1).answer()
        b.events.wait_for("suspect died", n, job=str(bad))
    until(lambda: is_dead(connection, bad))
    again = [gate.wait_call(job=job) for job in good]
    for call in again:
        call.answer()
    until(lambda: is_over(connection))

    assert b.is_alive()
    assert {call.job for call in again} == first
    assert {call.attempt for call in again} == {1}
    assert {history(connection, job)[-1] for job in good} == {"succeeded"}
    assert_dead_after_three(connection, bad)


def assert_dead_after_three(connection: psycopg.Connection[Any], job: UUID) -> None:
    assert history(connection, job).count("claimed") == 3
    (dead,) = facts(connection, job, "job.discarded")
    assert (dead["code"], dead["error_code"]) == ("worker_crashed", "process_gone")
    told = connection.execute(
        "SELECT topic FROM counterfoil.outbox WHERE stream_id = %s", (job,)
    )
    assert told.fetchall() == [("job.discarded",)]


def test_s6_also_a_worker_without_cells_dies_three_times_and_no_more(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    """A program of one's own that says nothing of how its kinds are made."""
    connection = database.connect()
    bad = poison(connection)
    for _ in range(3):
        worker = start_worker(cells=False)
        gate.wait_call(job=bad).answer()
        assert worker.wait_exit() == 7
        database.advance(PAST_A_LEASE)
    survivor = start_worker(cells=False)
    until(lambda: is_dead(connection, bad))

    enqueue(connection, "noop")
    until(lambda: is_over(connection))
    assert survivor.is_alive()
    assert_dead_after_three(connection, bad)


def test_s6_an_endless_loop_in_a_cell_ends_at_its_deadline(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    job = poison(connection, "loops")
    a = start_worker()
    gate.wait_call(job=job)
    a.kill()
    b = start_worker(deadline_seconds=2)
    database.advance(PAST_A_LEASE)

    for _ in range(3):
        gate.wait_call(job=job).answer()
    until(lambda: is_dead(connection, job))

    assert b.is_alive()
    assert facts(connection, job, "job.discarded")[0]["code"] == "budget_spent"
    failed = facts(connection, job, "job.attempt_failed")
    assert {each["code"] for each in failed} == {"handler_timeout"}


def test_i13_ordinary_work_goes_on_beside_suspects(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    a = start_worker()
    job = enqueue(connection, "slow")
    gate.wait_call(job=job)
    a.kill()
    start_worker()
    database.advance(PAST_A_LEASE)
    suspect = gate.wait_call(job=job)

    others = [enqueue(connection, "noop") for _ in range(50)]
    until(lambda: n_unfinished(connection) == 1)

    assert {history(connection, each)[-1] for each in others} == {"succeeded"}
    suspect.answer("complete")
    until(lambda: is_over(connection))


def warm_up(connection: psycopg.Connection[Any]) -> None:
    """Return when a worker has run a first `noop`, beside the poison."""
    enqueue(connection, "noop")
    until(lambda: n_unfinished(connection) == 1)


def n_unfinished(connection: psycopg.Connection[Any]) -> int:
    rows = connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchall()
    return int(rows[0][0])


def test_i3_a_crash_after_a_provider_was_asked_spends_the_attempt(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    job = enqueue(connection, "lawless", args={"way": "exits", "calls": True})
    a = start_worker()
    gate.wait_call(job=job)
    a.kill()
    start_worker()
    database.advance(PAST_A_LEASE)
    gate.wait_call(job=job, attempt=1).answer()

    gate.wait_call(job=job, attempt=2).answer()
    until(lambda: is_dead(connection, job))

    assert_dead_after_three(connection, job)


def cells_of(worker: WorkerProcess, connection: psycopg.Connection[Any]) -> bool:
    """Whether the worker has just started a cell's job: it runs."""
    rows = connection.execute(
        "SELECT owner_pid FROM counterfoil.jobs WHERE state = 'running' AND is_suspect"
    )
    return rows.fetchall() == [(worker.pid,)]


@pytest.mark.parametrize("is_committed", [False, True])
def test_killed_around_the_commit_of_a_suspects_claim(
    is_committed: bool,  # noqa: FBT001 - a case
    database: TestDatabase,
    proxy: Proxy,
    start_worker: Start,
    gate: Gate,
) -> None:
    """Nothing is lost, and no attempt is spent; what was committed may be to blame."""
    connection = database.connect()
    job = die_in_company(database, start_worker, gate)
    b = start_worker(proxy.conninfo)
    warm_up(connection)
    hold = proxy.hold_commit_answer if is_committed else proxy.hold_before_commit
    plan = hold(of=CLAIM)
    database.advance(PAST_A_LEASE)
    plan.wait()
    b.kill()

    start_worker()
    if is_committed:
        database.advance(PAST_A_LEASE)
        until(lambda: "lease_expired" in history(connection, job)[3:])
        database.advance(timedelta(minutes=1))
    call = gate.wait_call(job=job)

    assert call.attempt == 1
    expired = facts(connection, job, EXPIRY)
    assert [each["crashes"] for each in expired] == [0, 2][: 1 + is_committed]
    call.answer()
    until(lambda: history(connection, job)[-1] in {"lease_expired", "discarded"})
    until_dead(database, connection, gate, job)
    assert history(connection, job).count("claimed") <= 4


def until_dead(
    database: TestDatabase,
    connection: psycopg.Connection[Any],
    gate: Gate,
    job: UUID,
) -> None:
    """Let the job start and die until it does no more."""
    while not is_dead(connection, job):
        database.advance(timedelta(minutes=1))
        until(lambda: history(connection, job)[-1] in {"claimed", "discarded"})
        if not is_dead(connection, job):
            gate.wait_call(job=job).answer()
            until(lambda: history(connection, job)[-1] != "claimed")


@pytest.mark.parametrize("is_committed", [False, True])
def test_s6_killed_around_the_commit_of_a_crash_counts_it_once(
    is_committed: bool,  # noqa: FBT001 - a case
    database: TestDatabase,
    proxy: Proxy,
    start_worker: Start,
    gate: Gate,
) -> None:
    connection = database.connect()
    job = die_in_company(database, start_worker, gate)
    b = start_worker(proxy.conninfo, rescue_seconds=600)
    rescuing = start_worker(queues={"bulk": 1})
    warm_up(connection)
    hold = proxy.hold_commit_answer if is_committed else proxy.hold_before_commit
    database.advance(PAST_A_LEASE)
    call = gate.wait_call(job=job)
    plan = hold(of=EXPIRY)
    call.answer()
    plan.wait()
    b.kill()

    database.advance(PAST_A_LEASE)
    until(lambda: history(connection, job)[-1] == "lease_expired")

    assert [each["crashes"] for each in facts(connection, job, EXPIRY)] == [0, 2]
    assert rescuing.is_alive()
    start_worker()
    database.advance(timedelta(minutes=1))
    gate.wait_call(job=job).answer()
    until(lambda: is_dead(connection, job))
    assert_dead_after_three(connection, job)


def test_a_suspects_claim_whose_answer_was_lost_is_adopted_and_runs_alone(
    database: TestDatabase, proxy: Proxy, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    job = die_in_company(database, start_worker, gate)
    b = start_worker(proxy.conninfo)
    warm_up(connection)
    plan = proxy.cut_commit_answer(of=CLAIM)
    database.advance(PAST_A_LEASE)
    plan.wait()

    gate.wait_call(job=job, attempt=1).answer()
    b.events.wait_for("suspect died", job=str(job))

    assert b.events.of("claim adopted", jobs=1)
    assert b.is_alive()
    until_dead(database, connection, gate, job)


def test_i4_a_worker_that_is_killed_takes_its_cells_along(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    job = die_in_company(database, start_worker, gate)
    b = start_worker()
    database.advance(PAST_A_LEASE)
    call = gate.wait_call(job=job)
    assert cells_of(b, connection)

    b.kill()

    call.wire.settimeout(30)
    assert call.wire.recv(1) == b""  # the cell's end is closed: it is gone


def test_s7_a_polite_stop_gives_a_suspect_back_and_ends_its_cell(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    job = die_in_company(database, start_worker, gate)
    b = start_worker(grace_seconds=0.1)
    database.advance(PAST_A_LEASE)
    call = gate.wait_call(job=job)

    b.signal(signal.SIGTERM)

    assert b.wait_exit() == 0
    call.wire.settimeout(30)
    assert call.wire.recv(1) == b""
    (released,) = facts(connection, job, "job.released")
    assert (released["cause"], released["attempt"]) == ("shutdown", 0)
    rows = connection.execute("SELECT is_suspect, crashes FROM counterfoil.jobs")
    assert rows.fetchall() == [(True, 0)]
