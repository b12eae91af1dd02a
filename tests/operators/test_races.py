"""Two who act at once: the overlap is proven, one of them loses, and it is told how.

The test holds a row that both need, waits until both wait for it, and lets go.
PostgreSQL serves them in the order in which they came.
"""

from typing import Any
from uuid import UUID

import psycopg
import pytest

from application.errors import StateConflictError, TwinError
from application.operators.action import Done
from domain.jobs.outcome import Completed, Fail, Retry
from tests.fixtures.database import TestDatabase
from tests.operators.stage import Act, Stage, outcome
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def events_of(answer: object) -> tuple[str, ...]:
    assert isinstance(answer, Done), answer
    return answer.events


@pytest.mark.parametrize("kind", [GENERIC, SERVED])
def test_of_two_operators_who_retry_at_once_the_second_gets_the_conflict(
    world: World, stage: Stage, kind: str
) -> None:
    job, operation = bring(world, "discarded", kind)
    key = operation or job

    first, second = stage.meet(
        "jobs_dead", job, lambda: world.retry(job), lambda: world.retry(key)
    )

    assert "job.retried" in events_of(first)
    assert isinstance(second, StateConflictError)
    assert second.state == "waiting"
    assert world.tags(job).count("job.retried") == 1
    assert len(world.refusals()) == 1


def test_two_who_cancel_a_waiting_job_at_once_end_it_once(
    world: World, stage: Stage
) -> None:
    """S20: twice is a no-op, whoever came second."""
    job, operation = bring(world, "due", SERVED)
    assert operation is not None

    first, second = stage.meet(
        "operations",
        operation,
        lambda: world.cancel(job),
        lambda: world.cancel(operation),
    )

    assert events_of(first) == ("job.cancelled", "fulfillment.cancelled")
    assert events_of(second) == ()
    assert world.tags(job, operation).count("job.cancelled") == 1


def test_a_job_that_is_claimed_while_a_cancel_waits_is_asked_to_stop(
    world: World, stage: Stage
) -> None:
    job, operation = bring(world, "due", SERVED)
    assert operation is not None

    with stage.holding("operations", operation):
        cancel = stage.wait(lambda: world.cancel(job), 1)
        claimed = world.claim(SERVED)

    assert claimed.id == job
    assert events_of(outcome(cancel)) == ("job.cancel_requested",)


@pytest.mark.parametrize("kind", [GENERIC, SERVED])
def test_a_job_that_finishes_before_its_cancel_stays_succeeded(
    world: World, stage: Stage, kind: str
) -> None:
    """S20, I6."""
    job, operation = bring(world, "due", kind)
    claimed = world.claim(kind)
    if operation is not None:
        world.start(operation)
    done = Completed() if operation is None else world.success(operation)

    _, cancel = stage.meet(
        "jobs", job, lambda: world.end(claimed, done), lambda: world.cancel(job)
    )

    assert isinstance(cancel, StateConflictError)
    assert cancel.state == "succeeded"
    assert world.tags(job)[-1] == "job.succeeded"
    assert len(world.refusals()) == 1


def test_a_cancel_that_comes_before_the_success_does_not_undo_it(
    world: World, stage: Stage
) -> None:
    job, _ = bring(world, "due", GENERIC)
    claimed = world.claim(GENERIC)

    cancel, _ = stage.meet(
        "jobs", job, lambda: world.cancel(job), lambda: world.end(claimed, Completed())
    )

    assert events_of(cancel) == ("job.cancel_requested",)
    assert world.tags(job)[-2:] == ["job.cancel_requested", "job.succeeded"]


def test_a_cancel_that_comes_before_a_failure_ends_the_job_and_its_record(
    world: World, stage: Stage
) -> None:
    job, operation = bring(world, "due", SERVED)
    assert operation is not None
    claimed = world.claim(SERVED)
    world.start(operation)
    failure = Retry(code="remnawave_http_500")

    cancel, _ = stage.meet(
        "jobs", job, lambda: world.cancel(job), lambda: world.end(claimed, failure)
    )

    assert events_of(cancel) == ("job.cancel_requested",)
    assert world.tags(job)[-1] == "job.cancelled"
    assert world.tags(operation)[-1] == "fulfillment.cancelled"


def test_a_job_that_dies_before_its_cancel_leaves_its_record_to_the_cancel(
    world: World, stage: Stage
) -> None:
    job, operation = bring(world, "due", SERVED)
    assert operation is not None
    claimed = world.claim(SERVED)
    world.start(operation)
    death = Fail(code="remnawave_http_400")

    _, cancel = stage.meet(
        "jobs", job, lambda: world.end(claimed, death), lambda: world.cancel(job)
    )

    assert events_of(cancel) == ("fulfillment.cancelled",)
    assert world.state_of(job) == "discarded"


@pytest.mark.parametrize("retry_first", [True, False])
def test_retry_and_cancel_of_one_dead_operation_leave_one_truth(
    world: World, stage: Stage, *, retry_first: bool
) -> None:
    job, operation = bring(world, "discarded", SERVED)
    assert operation is not None
    acts: list[Act] = [lambda: world.retry(job), lambda: world.cancel(operation)]

    answers = stage.meet("operations", operation, *acts[:: 1 if retry_first else -1])

    first, second = answers
    if retry_first:
        assert events_of(first) == ("job.retried", "fulfillment.retried")
        assert events_of(second) == ("job.cancelled", "fulfillment.cancelled")
    else:
        assert events_of(first) == ("fulfillment.cancelled",)
        assert isinstance(second, StateConflictError)
        assert second.state == "cancelled"


def test_cancel_then_retry_while_the_handler_still_runs_is_refused(
    world: World,
) -> None:
    """S20: a retry never yields two handlers."""
    job, _ = bring(world, "cancel_requested", GENERIC)

    with pytest.raises(StateConflictError) as refused:
        world.retry(job)

    assert refused.value.state == "running"


def twin_over(connection: psycopg.Connection[Any]) -> UUID:
    """Enqueue another job with the unique key `one`."""
    asked = '{"kind": "report", "uniqueKey": "one"}'
    rows = connection.execute("SELECT counterfoil.enqueue(%s::jsonb)", (asked,))
    ((answer,),) = rows.fetchall()
    return UUID(answer["jobId"])


def dead_with_key(world: World) -> UUID:
    job = world.report(uniqueKey="one")
    world.end(world.claim(GENERIC), Fail(code="permanent"))
    return job


def test_a_dead_job_with_a_live_twin_stays_dead_and_names_it(world: World) -> None:
    """S19."""
    dead = dead_with_key(world)
    twin = twin_over(world.connection)

    with pytest.raises(TwinError) as refused:
        world.retry(dead)

    assert refused.value.twin == str(twin)
    assert world.state_of(dead) == "discarded"
    ((action, target, code, *_),) = world.refusals()
    assert (action, target, code) == ("retry", str(dead), "unique_job_active")


def test_once_the_twin_is_over_the_dead_job_is_retried(world: World) -> None:
    dead = dead_with_key(world)
    twin_over(world.connection)
    world.end(world.claim(GENERIC), Completed())

    assert world.retry(dead).events == ("job.retried",)


@pytest.mark.parametrize("commits", [True, False])
def test_a_twin_that_is_just_being_born_decides_by_its_commit(
    world: World, stage: Stage, database: TestDatabase, *, commits: bool
) -> None:
    """S19: the retry waits for the other transaction, however that ends."""
    dead = dead_with_key(world)
    other = database.connect()
    other.execute("BEGIN")
    twin = twin_over(other)

    retry = stage.wait(lambda: world.retry(dead), 1)
    other.execute("COMMIT" if commits else "ROLLBACK")

    answer = outcome(retry)
    if commits:
        assert isinstance(answer, TwinError)
        assert answer.twin == str(twin)
    else:
        assert events_of(answer) == ("job.retried",)
