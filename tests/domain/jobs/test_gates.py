"""A closed gate costs a job nothing but one parking; its opening is spread."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import IllegalTransitionError
from domain.jobs.aggregate import (
    LARGEST_ATTEMPT,
    Cancel,
    Cause,
    Job,
    RetryDead,
    Stage,
    fold,
)
from domain.jobs.events import Cancelled, Parked, Unparked
from domain.jobs.gates import (
    APART,
    LONGEST_SPREAD,
    WHEN_OPENED,
    Unpark,
    spread,
    unpark,
)
from domain.jobs.outcome import Gated, Park, Retry
from domain.jobs.verdict import LeaseLost, Moment, before_run, settle
from tests.domain.jobs.stages import (
    BUDGET,
    CLAIM,
    LATER,
    NOW,
    after,
    at,
    ended,
    only,
    running,
)

GATED = Gated(gate="panel", cause="maintenance_active")
UNPARK = Unpark(run_at=LATER)


def verdict(job: Job) -> Any:  # noqa: ANN401 - compared with what is expected
    return only(settle(job, GATED, BUDGET, Moment(NOW)))


def held(**more: object) -> Job:
    """Return a job that waits at a closed gate."""
    return ended(running(**more), GATED)


def unparked(job: Job) -> Job:
    return fold(unpark(job, UNPARK), job)


def test_a_job_at_a_closed_gate_is_parked_until_it_opens() -> None:
    assert verdict(running()) == Parked(
        attempt=0,
        token=2,
        until=WHEN_OPENED,
        cause="maintenance_active",
        parkings=0,
        gate="panel",
    )
    job = held()
    assert (job.stage, job.cause, job.gate) == (Stage.WAITING, Cause.PARKED, "panel")
    assert (job.run_at, job.attempt) == (WHEN_OPENED, 0)
    assert job.error_code == "maintenance_active"


def test_its_opening_makes_it_due_as_if_it_had_never_waited() -> None:
    assert only(unpark(held(), UNPARK)) == Unparked(run_at=LATER)
    job = unparked(held())
    assert (job.stage, job.cause, job.gate) == (Stage.WAITING, None, None)
    assert (job.run_at, job.attempt) == (LATER, 0)


def test_a_thousand_gates_cost_no_attempt_and_count_nothing() -> None:
    """S8: no counter rises, so nothing can overflow, and nothing grows."""
    first = held()
    job = first
    for _ in range(1_000):
        job = ended(after(unparked(job), CLAIM), GATED)

    assert (job.attempt, job.parkings, job.crashes) == (0, 0, 0)
    assert job.version == first.version + 3 * 1_000
    assert job == first.__replace__(version=job.version)


@pytest.mark.parametrize("attempt", [2, 40, 1_000, LARGEST_ATTEMPT])
def test_the_attempts_that_were_spent_stay_spent(attempt: int) -> None:
    job = running().__replace__(attempt=attempt)

    assert ended(job, GATED).attempt == attempt - 1


def test_other_parkings_are_counted_as_before() -> None:
    off = Park(cause="panel_credentials")
    job = after(ended(running(), off), CLAIM)

    job = unparked(ended(job, GATED))

    assert job.parkings == 1
    assert ended(after(job, CLAIM), off).parkings == 2


def test_a_job_that_waits_at_no_gate_is_not_unparked() -> None:
    parked = ended(running(), Park(cause="panel_credentials"))

    for job in (at(Stage.WAITING), parked, unparked(held())):
        assert unpark(job, UNPARK) == ()


@pytest.mark.parametrize("stage", sorted(set(Stage) - {Stage.WAITING}))
def test_only_what_waits_is_unparked(stage: Stage) -> None:
    with pytest.raises(IllegalTransitionError):
        unpark(at(stage), UNPARK)


def test_a_held_job_is_cancelled_at_once() -> None:
    job = after(held(), Cancel())

    assert (job.stage, job.gate, job.code) == (Stage.CANCELLED, None, "operator")


def test_a_held_job_that_was_cancelled_and_retried_is_due() -> None:
    """The gate is found closed again, if it is."""
    job = after(held(), Cancel(), RetryDead(run_at=NOW))

    assert (job.stage, job.cause, job.gate, job.run_at) == (
        Stage.WAITING,
        None,
        None,
        NOW,
    )


def test_a_requested_cancel_wins_over_the_gate() -> None:
    job = after(running(), Cancel())

    assert verdict(job) == Cancelled(attempt=1, code="operator")


def test_a_deadline_is_looked_at_when_the_job_runs_again() -> None:
    """The gate may open before it."""
    job = held(deadline=LATER)
    assert job.stage is Stage.WAITING

    again = after(unparked(job), CLAIM)

    assert before_run(again, BUDGET, LATER) is None
    late = before_run(again, BUDGET, LATER + timedelta(seconds=1))
    assert late is not None
    assert late.code == "deadline_exceeded"


def test_an_attempt_that_fails_under_a_closed_gate_has_failed() -> None:
    """What has begun is spent; the gate is found closed at the next look."""
    job = ended(running(), Retry(code="down"))
    assert (job.attempt, job.gate) == (1, None)

    job = ended(after(job, CLAIM), GATED)

    assert (job.attempt, job.gate) == (1, "panel")


def test_a_suspect_that_came_to_a_gate_has_returned() -> None:
    suspect = after(ended(running(), LeaseLost(cause="process_gone", died=True)), CLAIM)
    assert suspect.is_suspect

    assert not ended(suspect, GATED).is_suspect


keys = st.text(st.characters(exclude_categories=["Cs"]))


@given(keys, st.integers(-1, 10**9))
def test_everything_is_due_within_the_spread(key: str, waiting: int) -> None:
    after_opening = spread(key, waiting)

    assert timedelta() <= after_opening <= LONGEST_SPREAD
    assert after_opening <= max(waiting, 0) * APART


@given(keys, st.integers(0, 10**6))
def test_jobs_of_one_key_are_due_together(key: str, waiting: int) -> None:
    assert spread(key, waiting) == spread(key, waiting)


def test_a_herd_is_spread_evenly() -> None:
    """S8: of 1,000 no second sees more than twice its share."""
    due = [spread(f"default:entitlement:{n}", 1_000) for n in range(1_000)]
    seconds = [int(each.total_seconds()) for each in due]

    assert max(seconds) in {48, 49}
    assert max(seconds.count(second) for second in range(50)) <= 2 * 20


def test_one_job_alone_hardly_waits() -> None:
    assert spread("any", 1) <= APART
