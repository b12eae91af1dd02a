"""S20: a cancel at every moment of a job's life ends it once, and never twice over."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from application.errors import StateConflictError
from application.operators.cancel import cancel_job
from application.operators.instruction import instruct
from application.operators.retry import retry_job
from application.operators.target import Targets
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Gate,
    Start,
    enqueue,
    history,
    is_over,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

TERMINAL = {"succeeded", "discarded", "cancelled"}
FAR = "2099-01-01T00:00:00Z"


class Operator:
    """A person at the desk."""

    def __init__(self, pool: Database) -> None:
        streams = PostgresStreams(pool)
        units, targets = BatchStore(pool), Targets(streams, streams, {})
        self._cancel = cancel_job(targets, units, new_id)
        self._retry = retry_job(targets, units, new_id)

    def cancel(self, job: UUID) -> None:
        self._cancel(str(job), instruct("bob", "not wanted"))

    def retry(self, job: UUID) -> None:
        self._retry(str(job), instruct("ann", "wanted after all"))


@pytest.fixture
def operator(database: TestDatabase) -> Iterator[Operator]:
    with Database(database.conninfo, pool_size=4) as pool:
        yield Operator(pool)


def ends(connection: psycopg.Connection[Any], job: UUID) -> list[str]:
    return [tag for tag in history(connection, job) if tag in TERMINAL]


def test_s20_a_waiting_job_is_cancelled_at_once_and_never_starts(
    database: TestDatabase, start_worker: Start, operator: Operator
) -> None:
    connection = database.connect()
    start_worker()
    job = enqueue(connection, "noop", runAt=FAR)

    operator.cancel(job)
    operator.cancel(job)  # and again

    assert history(connection, job) == ["enqueued", "cancelled"]


def test_s20_a_parked_job_is_cancelled_at_once(
    database: TestDatabase, start_worker: Start, operator: Operator
) -> None:
    connection = database.connect()
    start_worker()
    job = enqueue(connection, "parking")
    until(lambda: history(connection, job)[-1] == "parked")

    operator.cancel(job)

    assert ends(connection, job) == ["cancelled"]


@pytest.mark.parametrize("is_heard", [True, False])
def test_s20_a_running_job_learns_of_it_within_one_heartbeat(
    is_heard: bool,  # noqa: FBT001 - a case
    database: TestDatabase,
    start_worker: Start,
    operator: Operator,
) -> None:
    """Also when the listener is down: a cancel is no notice."""
    connection = database.connect()
    worker = start_worker(heartbeat_seconds=0.5, listens=is_heard)
    job = enqueue(connection, "heeding")
    worker.events.wait_for("heeding", job=str(job))
    if is_heard:
        connection.execute(
            """
            SELECT pg_terminate_backend(pid)
              FROM pg_stat_activity
             WHERE application_name = 'counterfoil notices'
               AND datname = current_database()
            """
        )

    operator.cancel(job)
    operator.cancel(job)
    until(lambda: is_over(connection))

    assert history(connection, job) == [
        "enqueued",
        "claimed",
        "cancel_requested",
        "cancelled",
    ]


def test_s20_work_that_finishes_before_the_word_arrives_has_succeeded(
    database: TestDatabase, start_worker: Start, gate: Gate, operator: Operator
) -> None:
    connection = database.connect()
    start_worker()
    job = enqueue(connection, "slow")
    call = gate.wait_call(job=job)

    operator.cancel(job)
    call.answer("complete")
    until(lambda: is_over(connection))

    assert ends(connection, job) == ["succeeded"]
    with pytest.raises(StateConflictError):
        operator.cancel(job)
    with pytest.raises(StateConflictError):
        operator.retry(job)
    assert ends(connection, job) == ["succeeded"]


@pytest.mark.parametrize("word", ["retry", "snooze", "park"])
def test_s20_work_that_does_not_finish_is_cancelled(
    word: str,
    database: TestDatabase,
    start_worker: Start,
    gate: Gate,
    operator: Operator,
) -> None:
    connection = database.connect()
    start_worker()
    job = enqueue(connection, "slow")
    call = gate.wait_call(job=job)

    operator.cancel(job)
    call.answer(word)
    until(lambda: is_over(connection))

    assert ends(connection, job) == ["cancelled"]


def test_s20_a_retry_while_its_handler_still_runs_never_yields_two(
    database: TestDatabase, start_worker: Start, gate: Gate, operator: Operator
) -> None:
    """The run is over by its deadline; the thread is not: who retries is told so."""
    connection = database.connect()
    worker = start_worker(deadline_seconds=1)
    job = enqueue(connection, "slow")
    first = gate.wait_call(job=job)
    operator.cancel(job)
    with pytest.raises(StateConflictError):
        operator.retry(job)  # it still runs
    worker.events.wait_for("slot occupied", job=str(job))
    until(lambda: ends(connection, job) == ["cancelled"])

    with pytest.raises(StateConflictError, match="stop that worker"):
        operator.retry(job)
    first.answer("complete")
    worker.events.wait_for("slot free again", job=str(job))
    until(lambda: is_quiet(connection))
    operator.retry(job)
    second = gate.wait_call(job=job)
    second.answer("complete")
    until(lambda: is_over(connection))

    assert ends(connection, job) == ["cancelled", "succeeded"]


def is_quiet(connection: psycopg.Connection[Any]) -> bool:
    """Return whether no worker says that a handler runs on."""
    said = "SELECT 1 FROM counterfoil.workers WHERE lingering <> '{}'"
    return not connection.execute(said).fetchall()


def test_s20_cancels_that_race_with_the_end_leave_one_terminal_state(
    database: TestDatabase, start_worker: Start, operator: Operator
) -> None:
    connection = database.connect()
    database.advance(timedelta(minutes=10))
    start_worker()
    refused: list[UUID] = []

    def cancel(job: UUID) -> None:
        try:
            operator.cancel(job)
        except StateConflictError:
            refused.append(job)

    jobs = []
    for _ in range(40):
        jobs.append(enqueue(connection, "noop"))
        threads = [threading.Thread(target=cancel, args=(jobs[-1],)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    until(lambda: is_over(connection))

    assert all(len(ends(connection, job)) == 1 for job in jobs)
    assert all(ends(connection, job) == ["succeeded"] for job in refused)
