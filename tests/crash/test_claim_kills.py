"""SIGKILL around the COMMIT of a claim: nothing is lost, and no attempt is spent."""

from datetime import timedelta

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import (
    Gate,
    Start,
    enqueue,
    history,
    is_over,
    until,
    wait_at_work,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

CLAIM = "'job.claimed'"


def test_i3_killed_before_its_claim_commits(
    database: TestDatabase, proxy: Proxy, start_worker: Start, gate: Gate
) -> None:
    connection = database.connect()
    a = start_worker(proxy.conninfo)
    wait_at_work(connection)
    plan = proxy.hold_before_commit(of=CLAIM)
    job = enqueue(connection, "calling")
    plan.wait()
    a.kill()

    start_worker()
    call = gate.wait_call()

    assert (call.job, call.attempt) == (job, 1)
    assert history(connection, job) == ["enqueued", "claimed"]
    call.answer()
    until(lambda: is_over(connection))


def test_i3_killed_after_its_claim_has_committed(
    database: TestDatabase, proxy: Proxy, start_worker: Start, gate: Gate
) -> None:
    database.advance(timedelta(minutes=10))
    connection = database.connect()
    a = start_worker(proxy.conninfo)
    wait_at_work(connection)
    plan = proxy.hold_commit_answer(of=CLAIM)
    job = enqueue(connection, "calling", serialKey="k")
    plan.wait()
    a.kill()
    start_worker()
    assert history(connection, job) == ["enqueued", "claimed"]

    database.advance(timedelta(seconds=61))
    call = gate.wait_call()

    assert (call.job, call.attempt, call.token) == (job, 1, 4)
    call.answer()
    until(lambda: is_over(connection))
    assert history(connection, job) == [
        "enqueued",
        "claimed",
        "lease_expired",
        "claimed",
        "succeeded",
    ]


def test_a_process_that_kills_itself_takes_no_other_job_along(
    database: TestDatabase, start_worker: Start
) -> None:
    """I13: its neighbours come back after their lease, and keep their budget."""
    database.advance(timedelta(minutes=10))
    connection = database.connect()
    a = start_worker()
    good = [enqueue(connection, "noop", queue="bulk") for _ in range(5)]
    until(lambda: is_over(connection))
    enqueue(connection, "exiting")
    assert a.wait_exit() == 7

    assert {history(connection, job)[-1] for job in good} == {"succeeded"}
