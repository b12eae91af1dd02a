"""S20: a suspect that runs in its cell is cancelled like any other job."""

import signal
from datetime import timedelta
from uuid import UUID

import pytest

from tests.crash.test_cancel_races import Operator, ends, operator
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Gate,
    Start,
    WorkerProcess,
    enqueue,
    history,
    is_over,
    until,
)

__all__ = ["operator"]

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.fixture(autouse=True)
def _old_server(database: TestDatabase) -> None:
    """No lease is rescued within one lease of the server's start."""
    database.advance(timedelta(minutes=10))


def suspected(database: TestDatabase, start: Start) -> UUID:
    """Return a job whose process was killed while it ran."""
    job = enqueue(database.connect(), "heeding")
    worker = start()
    until(lambda: history(database.connect(), job)[-1] == "claimed")
    worker.kill()
    return job


def suspected_in_a_call(database: TestDatabase, start: Start, gate: Gate) -> UUID:
    """Return a job whose process was killed while its handler asked the gate."""
    job = enqueue(database.connect(), "slow")
    worker = start()
    gate.wait_call(job=job)
    worker.kill()
    return job


def successor(database: TestDatabase, start: Start) -> WorkerProcess:
    worker = start(heartbeat_seconds=0.5)
    database.advance(timedelta(seconds=61))
    return worker


def test_s20_a_suspect_learns_of_a_cancel_within_one_heartbeat(
    database: TestDatabase,
    start_worker: Start,
    operator: Operator,
) -> None:
    connection = database.connect()
    job = suspected(database, start_worker)
    worker = successor(database, start_worker)
    worker.events.wait_for("heeding", job=str(job))

    operator.cancel(job)
    until(lambda: is_over(connection))

    assert ends(connection, job) == ["cancelled"]
    assert history(connection, job)[-2:] == ["cancel_requested", "cancelled"]


@pytest.mark.parametrize("word", ["complete", "retry"])
def test_s20_a_suspect_that_does_not_listen_has_one_end(
    word: str,
    database: TestDatabase,
    start_worker: Start,
    gate: Gate,
    operator: Operator,
) -> None:
    connection = database.connect()
    job = suspected_in_a_call(database, start_worker, gate)
    successor(database, start_worker)
    call = gate.wait_call(job=job)

    operator.cancel(job)
    call.answer(word)
    until(lambda: is_over(connection))

    assert ends(connection, job) == ["succeeded" if word == "complete" else "cancelled"]


def test_s20_a_cancelled_suspect_whose_worker_dies_is_cancelled(
    database: TestDatabase,
    start_worker: Start,
    gate: Gate,
    operator: Operator,
) -> None:
    connection = database.connect()
    job = suspected_in_a_call(database, start_worker, gate)
    worker = successor(database, start_worker)
    gate.wait_call(job=job)
    operator.cancel(job)
    worker.signal(signal.SIGKILL)

    start_worker()
    database.advance(timedelta(seconds=61))
    until(lambda: is_over(connection))

    assert ends(connection, job) == ["cancelled"]
