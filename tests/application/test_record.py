"""Whoever ends or moves a job moves its operation's record with it."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.fulfillment.record import follow
from domain.fulfillment import events as facts
from domain.fulfillment.aggregate import FulfillmentOperation, Stage, evolve
from domain.jobs import events as jobs
from domain.jobs.events import JobEvent

AT = datetime(2026, 8, 1, tzinfo=UTC)
RUNNING = FulfillmentOperation(version=2, stage=Stage.RUNNING, attempts=1)

ATTEMPT_FAILED = jobs.AttemptFailed(
    attempt=1, token=2, code="remnawave_http_503", error="e", retry_at=AT
)
PARKED = jobs.Parked(
    attempt=0, token=2, until=AT, cause="panel_credentials", parkings=1
)
SNOOZED = jobs.Snoozed(attempt=0, token=2, until=AT, cause="interrupted")
RELEASED = jobs.Released(attempt=0, token=2, until=AT, cause="shutdown")
EXPIRED = jobs.LeaseExpired(attempt=1, token=2, cause="process_gone", retry_at=AT)
DISCARDED = jobs.Discarded(
    attempt=12,
    token=2,
    code="budget_spent",
    error_code="remnawave_http_503",
    error="e",
)
UNDECODABLE = jobs.Discarded(
    attempt=1, token=2, code="undecodable", error_code=None, error="e"
)
CANCELLED = jobs.Cancelled(attempt=1, code="operator")
RETRIED = jobs.Retried(run_at=AT)
SUCCEEDED = jobs.Succeeded(attempt=1, token=2, result=None)
CLAIMED = jobs.Claimed(
    attempt=1, owner=jobs.Owner("h", 1, UUID(int=1)), token=2, lease_seconds=60
)
ENQUEUED = jobs.Enqueued(
    kind="fulfillment",
    queue="critical",
    priority=1,
    args={},
    unique_key=None,
    serial_key=None,
    serial_order=0,
    run_at=AT,
    max_attempts=None,
    deadline=None,
)
EVERY: list[JobEvent] = [
    ATTEMPT_FAILED,
    PARKED,
    SNOOZED,
    RELEASED,
    EXPIRED,
    DISCARDED,
    UNDECODABLE,
    CANCELLED,
    RETRIED,
    SUCCEEDED,
    CLAIMED,
    ENQUEUED,
    jobs.CancelRequested(),
]

ROWS: list[tuple[JobEvent, facts.FulfillmentEvent]] = [
    (
        ATTEMPT_FAILED,
        facts.AttemptFailed(attempt=1, code="remnawave_http_503", retry_at=AT),
    ),
    (PARKED, facts.Parked(cause="panel_credentials")),
    (SNOOZED, facts.Interrupted(attempt=1, cause="interrupted")),
    (RELEASED, facts.Interrupted(attempt=1, cause="shutdown")),
    (EXPIRED, facts.Interrupted(attempt=1, cause="process_gone")),
    (DISCARDED, facts.Failed(attempt=1, code="remnawave_http_503")),
    (UNDECODABLE, facts.Failed(attempt=1, code="undecodable")),
    (CANCELLED, facts.Cancelled(code="operator", covered_by=None)),
]


@pytest.mark.parametrize(("job_event", "fact"), ROWS)
def test_what_ends_a_claim_moves_a_running_operation(
    job_event: JobEvent, fact: facts.FulfillmentEvent
) -> None:
    assert follow(RUNNING, job_event) == (fact,)


@pytest.mark.parametrize(
    "job_event",
    [SUCCEEDED, CLAIMED, ENQUEUED, jobs.CancelRequested(), RETRIED],
)
def test_what_says_nothing_about_an_attempt_moves_nothing(job_event: JobEvent) -> None:
    assert follow(RUNNING, job_event) == ()


@pytest.mark.parametrize("job_event", [SNOOZED, RELEASED, EXPIRED])
def test_a_claim_without_an_attempt_leaves_no_trace(job_event: JobEvent) -> None:
    pending = msgspec.structs.replace(RUNNING, stage=Stage.PENDING)

    assert follow(pending, job_event) == ()


@pytest.mark.parametrize("stage", [Stage.SUCCEEDED, Stage.CANCELLED, Stage.UNBORN])
@pytest.mark.parametrize("job_event", EVERY)
def test_a_final_operation_stays_as_it_is(stage: Stage, job_event: JobEvent) -> None:
    """I6: final is final, whatever becomes of its job."""
    final = msgspec.structs.replace(RUNNING, stage=stage)

    assert follow(final, job_event) == ()


def test_a_failed_operation_is_left_only_by_retry_and_cancel() -> None:
    failed = msgspec.structs.replace(RUNNING, stage=Stage.FAILED)

    moving = [event for event in EVERY if follow(failed, event)]

    assert moving == [CANCELLED, RETRIED]


@given(st.lists(st.sampled_from(EVERY), max_size=12), st.sampled_from(Stage))
def test_no_order_of_a_jobs_events_makes_its_record_fail(
    job_events: list[JobEvent], stage: Stage
) -> None:
    operation = msgspec.structs.replace(RUNNING, stage=stage)

    for job_event in job_events:
        for fact in follow(operation, job_event):
            operation = evolve(operation, fact)

    if stage in {Stage.SUCCEEDED, Stage.CANCELLED}:
        assert operation.stage is stage
