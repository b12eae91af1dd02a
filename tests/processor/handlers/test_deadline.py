"""The hard deadline: the attempt ends, the thread does not, and its slot says so."""

import threading
from collections.abc import Iterator

import pytest

from application.context import Context
from application.job_kinds import AnyKind
from domain.jobs.backoff import Backoff
from domain.jobs.outcome import Completed, Outcome
from domain.jobs.verdict import Budget
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Args,
    Handler,
    enqueue,
    facts,
    history,
    is_over,
    kind,
    until,
    worker_here,
)
from tests.processor.rig import NOOP

pytestmark = pytest.mark.usefixtures("heads_equal_folds")

SOON = Budget(max_attempts=3, backoff=Backoff(base_seconds=0.001, cap_exponent=0))


class Stuck:
    """A handler that does not return before the test says so."""

    def __init__(self) -> None:
        self.runs = 0
        self.most_at_once = 0
        self.may_return = threading.Event()
        self._now = 0
        self._lock = threading.Lock()

    def __call__(self, _args: Args, _ctx: Context) -> Outcome:
        with self._lock:
            self.runs += 1
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        self.may_return.wait(60)
        with self._lock:
            self._now -= 1
        return Completed()

    def kind(self, name: str = "stuck") -> AnyKind:
        handler: Handler = self
        return kind(name, handler, deadline_seconds=1, budget=SOON)


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.may_return.set()


def test_never_do_two_handlers_of_one_job_run_in_one_process(
    database: TestDatabase, stuck: Stuck
) -> None:
    """It is due again at once, and waits for another process or for the old thread."""
    connection = database.connect()
    job = enqueue(connection, "stuck")

    with worker_here(database, stuck.kind(), NOOP) as (_, events):
        events.wait_for("slot occupied", job=str(job))
        until(lambda: history(connection, job)[-1] == "attempt_failed")
        for _ in range(20):
            enqueue(connection, "noop")
        until(
            lambda: (
                connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchone()
                == (1,)
            )
        )
        assert (stuck.runs, history(connection, job)[-1]) == (1, "attempt_failed")
        stuck.may_return.set()
        until(lambda: is_over(connection))
        (late,) = events.of("slot free again", job=str(job))

    (failed,) = facts(connection, job, "job.attempt_failed")
    assert failed["code"] == "handler_timeout"
    assert late["after_seconds"] >= 1
    assert (stuck.runs, stuck.most_at_once) == (2, 1)
    assert history(connection, job)[-2:] == ["claimed", "succeeded"]


def test_an_overrunning_handler_keeps_its_slot(
    database: TestDatabase, stuck: Stuck
) -> None:
    """Capacity is honest: nothing is run beyond it meanwhile."""
    connection = database.connect()
    enqueue(connection, "stuck")

    with worker_here(database, stuck.kind(), NOOP, queues={"default": 1}) as (_, seen):
        (told,) = seen.wait_for("slot occupied")
        other = enqueue(connection, "noop")
        until(lambda: history(connection, other)[-1] == "claimed")
        assert told["queue"] == "default"
        assert history(connection, other)[-1] == "claimed"  # and waits for its thread
        stuck.may_return.set()
        until(lambda: is_over(connection))

    assert history(connection, other)[-1] == "succeeded"


def test_a_job_that_was_lost_and_comes_back_is_not_run_beside_itself(
    database: TestDatabase, stuck: Stuck
) -> None:
    """Its old claim was rescued by others before this process knew of it."""
    connection = database.connect()
    job = enqueue(connection, "patient")
    patient = kind("patient", stuck, deadline_seconds=600)

    with worker_here(database, patient) as (_, events):
        until(lambda: stuck.runs)
        connection.execute(
            """
            WITH lost AS (
                UPDATE counterfoil.jobs
                   SET state = 'waiting', token = NULL, owner_host = NULL,
                       owner_pid = NULL, owner_boot = NULL, version = version + 1,
                       attempt = 0, cause = 'after_failure', error_code = 'lease_lost',
                       run_at = '2026-01-01T00:00:00Z'
                RETURNING stream_id, version
            )
            INSERT INTO counterfoil.events
                   (tenant_id, stream_id, version, type, schema, data, meta)
            SELECT 'default', stream_id, version, 'job.lease_expired', 1,
                   '{"attempt": 0, "token": 2, "cause": "lease_lost",
                     "retry_at": "2026-01-01T00:00:00Z"}',
                   '{"actor": {"type": "system", "id": "test"}, "correlation_id": "c"}'
              FROM lost
            """
        )
        until(lambda: "released" in history(connection, job))
        assert stuck.runs == 1
        stuck.may_return.set()
        until(lambda: is_over(connection))
        assert events.of("lease lost", job=str(job))

    assert stuck.most_at_once == 1
    (back,) = facts(connection, job, "job.released")
    assert (back["cause"], back["attempt"]) == ("still_running_here", 0)
