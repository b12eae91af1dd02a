"""People move waiting jobs: later, or to now; whatever waits can be moved."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.errors import IllegalTransitionError
from domain.jobs.aggregate import Cause, Job, Stage, fold
from domain.jobs.events import Rescheduled
from domain.jobs.moving import Hasten, Postpone, move

NOW = datetime(2026, 3, 1, tzinfo=UTC)
INSTANTS = st.integers(-(10**6), 10**6).map(lambda it: NOW + timedelta(seconds=it))
JOBS = st.builds(
    Job,
    version=st.integers(1, 99),
    stage=st.just(Stage.WAITING),
    kind=st.just("report"),
    unique_key=st.none() | st.text(max_size=5),
    run_at=INSTANTS,
    attempt=st.integers(0, 9),
    cause=st.sampled_from([None, *Cause]),
    parkings=st.integers(0, 9),
    crashes=st.integers(0, 3),
    deadline=st.none() | INSTANTS,
    error_code=st.none() | st.just("http_502"),
)


@given(JOBS, INSTANTS)
def test_a_snoozed_job_is_due_then_and_otherwise_as_it_was(
    job: Job, until: datetime
) -> None:
    events = move(job, Postpone(until=until))
    after = fold(events, job)

    assert after.run_at == until
    assert after.cause is None
    assert replace(after, version=job.version, run_at=job.run_at, cause=job.cause) == (
        job
    )
    assert move(after, Postpone(until=until)) == ()


@given(JOBS, INSTANTS)
def test_a_hastened_job_is_due_now_with_its_budget_reset(
    job: Job, now: datetime
) -> None:
    events = move(job, Hasten(now=now))
    after = fold(events, job)

    assert after.run_at is not None
    assert after.run_at <= now
    assert (after.attempt, after.cause, after.stage) == (0, None, Stage.WAITING)
    assert (after.kind, after.unique_key) == (job.kind, job.unique_key)
    if events:
        assert events == (Rescheduled(attempt=0, run_at=now, cause="retried"),)
        assert (after.crashes, after.deadline, after.error_code) == (0, None, None)
    assert move(after, Hasten(now=now)) == ()


@given(JOBS, st.sampled_from([it for it in Stage if it is not Stage.WAITING]))
def test_only_what_waits_is_moved(job: Job, stage: Stage) -> None:
    for command in (Postpone(until=NOW), Hasten(now=NOW)):
        with pytest.raises(IllegalTransitionError):
            move(replace(job, stage=stage), command)


@given(JOBS)
def test_what_a_gate_holds_is_not_moved(job: Job) -> None:
    held = replace(job, gate="panel", cause=Cause.PARKED)
    for command in (Postpone(until=NOW), Hasten(now=NOW)):
        with pytest.raises(IllegalTransitionError):
            move(held, command)
