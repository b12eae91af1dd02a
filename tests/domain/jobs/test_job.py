"""The life of a job, one story a rule."""

from datetime import timedelta

import msgspec
import pytest

from domain.errors import IllegalTransitionError
from domain.jobs.aggregate import (
    LARGEST_ATTEMPT,
    Cancel,
    Job,
    JobCommand,
    RetryDead,
    Stage,
    decide,
    fold,
    holder,
)
from domain.jobs.events import Cancelled, CancelRequested, Claimed
from domain.jobs.outcome import Completed
from tests.domain.jobs.stages import (
    CLAIM,
    LATER,
    NOW,
    OWNER,
    after,
    at,
    cancelled,
    discarded,
    ended,
    enqueued,
    only,
    running,
    waiting,
)

COMMANDS: dict[str, JobCommand] = {
    "enqueue": enqueued(),
    "claim": CLAIM,
    "cancel": Cancel(),
    "retry": RetryDead(run_at=NOW),
}
ALLOWED = {
    Stage.UNBORN: {"enqueue"},
    Stage.WAITING: {"claim", "cancel"},
    Stage.RUNNING: {"cancel"},
    Stage.SUCCEEDED: set[str](),
    Stage.DISCARDED: {"retry"},
    Stage.CANCELLED: {"retry", "cancel"},  # cancelled already: nothing happens
}


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_refused_at_every_stage_that_has_no_arrow_for_it(
    stage: Stage, name: str
) -> None:
    """I6: nothing leaves `succeeded`, only a retry leaves a dead job."""
    if name in ALLOWED[stage]:
        decide(at(stage), COMMANDS[name])
    else:
        with pytest.raises(IllegalTransitionError, match=stage):
            decide(at(stage), COMMANDS[name])


def test_a_birth_keeps_everything_that_was_asked_for() -> None:
    asked = enqueued(
        queue="bulk",
        priority=3,
        unique_key="u",
        serial_key="s",
        serial_order=5,
        max_attempts=9,
        deadline=LATER,
    )

    job = after(Job(), asked)

    assert (job.stage, job.version, job.attempt) == (Stage.WAITING, 1, 0)
    assert (job.kind, job.queue, job.priority) == ("noop", "bulk", 3)
    assert (job.unique_key, job.serial_key, job.serial_order) == ("u", "s", 5)
    assert (job.run_at, job.max_attempts, job.deadline) == (NOW, 9, LATER)


def test_the_fencing_token_is_the_version_of_the_claim() -> None:
    job = waiting()

    claimed = only(decide(job, CLAIM))

    assert claimed == Claimed(
        attempt=1, owner=OWNER, token=job.version + 1, lease_seconds=60
    )
    held = fold([claimed], job)
    assert held.token == held.version
    assert holder(held, held.version)
    assert not holder(held, held.version - 1)
    assert not holder(waiting(), 1)
    assert not holder(None, 1)


def test_a_counter_at_its_end_stays_there_instead_of_overflowing() -> None:
    """S9."""
    spent = msgspec.structs.replace(waiting(), attempt=LARGEST_ATTEMPT)

    assert after(spent, CLAIM).attempt == LARGEST_ATTEMPT


def test_a_waiting_job_is_cancelled_at_once() -> None:
    assert only(decide(waiting(), Cancel(code="why"))) == Cancelled(
        attempt=0, code="why"
    )
    assert cancelled().code == "operator"


def test_a_running_job_is_only_asked_to_stop_and_only_once() -> None:
    asked = after(running(), Cancel())

    assert only(decide(running(), Cancel())) == CancelRequested()
    assert asked.stage is Stage.RUNNING
    assert decide(asked, Cancel()) == ()
    assert decide(cancelled(), Cancel()) == ()


def test_a_retry_resets_the_budget_and_keeps_the_rest() -> None:
    dead = discarded()
    revived = after(dead, RetryDead(run_at=LATER))

    assert (revived.stage, revived.attempt, revived.parkings) == (Stage.WAITING, 0, 0)
    assert (revived.code, revived.error_code, revived.cause) == (None, None, None)
    assert revived.run_at == LATER
    assert revived.version == dead.version + 1
    assert revived.max_attempts == dead.max_attempts


def test_a_retry_outweighs_a_deadline_that_has_passed() -> None:
    dead = msgspec.structs.replace(discarded(), deadline=NOW - timedelta(1))

    assert after(dead, RetryDead(run_at=LATER)).deadline is None


def test_the_token_goes_on_rising_over_a_retry() -> None:
    first = running()
    again = after(discarded(), RetryDead(run_at=NOW), CLAIM)

    assert first.token is not None
    assert again.token is not None
    assert again.token > first.token


def test_success_keeps_nothing_of_the_claim() -> None:
    job = ended(running(), Completed(result={"n": 1}), now=NOW + timedelta(1))

    assert job.stage is Stage.SUCCEEDED
    assert (job.token, job.owner, job.cause) == (None, None, None)
    assert job.attempt == 1
