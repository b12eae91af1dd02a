"""What an ending means: again, later, or dead; one function, one schedule."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from domain.errors import IllegalTransitionError
from domain.jobs.aggregate import LARGEST_ATTEMPT, Cancel, Cause, Job, Stage
from domain.jobs.backoff import Backoff
from domain.jobs.events import (
    AttemptFailed,
    Cancelled,
    Discarded,
    LeaseExpired,
    Parked,
    Released,
    Snoozed,
    Succeeded,
)
from domain.jobs.outcome import (
    Ambiguous,
    Completed,
    Fail,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.outcome import Cancel as Cancelling
from domain.jobs.verdict import (
    Budget,
    Ending,
    Interrupted,
    LeaseLost,
    Moment,
    Unfit,
    before_run,
    settle,
)
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

TOKEN = 2
GIVEN_BACK: list[Ending] = [
    Snooze(until=LATER),
    Park(cause="maintenance"),
    Interrupted(cause="shutdown"),
    LeaseLost(cause="process_gone"),
    Unfit(code="undecodable"),
]


def verdict(ending: Ending, job: Job | None = None, budget: Budget = BUDGET) -> Any:  # noqa: ANN401 - compared with what is expected
    held = running() if job is None else job
    return only(settle(held, ending, budget, Moment(NOW)))


def test_completed_work_has_succeeded() -> None:
    assert verdict(Completed(result={"n": 1})) == Succeeded(
        attempt=1, token=TOKEN, result={"n": 1}
    )


def test_a_failure_with_budget_left_waits_by_the_schedule() -> None:
    assert verdict(Retry(code="down", error="it said no")) == AttemptFailed(
        attempt=1,
        token=TOKEN,
        code="down",
        error="it said no",
        retry_at=NOW + timedelta(seconds=10),
    )
    job = ended(running(), Retry(code="down"))
    assert (job.stage, job.cause) == (Stage.WAITING, Cause.AFTER_FAILURE)
    assert job.run_at == NOW + timedelta(seconds=10)
    assert (job.attempt, job.error_code) == (1, "down")


def test_the_last_failure_of_the_budget_is_the_end() -> None:
    """I3: exactly as many attempts as the budget says."""
    job = at(Stage.WAITING)
    for _ in range(BUDGET.max_attempts):
        assert job.stage is Stage.WAITING
        job = ended(after(job, CLAIM), Retry(code="down"))

    assert job.stage is Stage.DISCARDED
    assert (job.code, job.error_code) == ("budget_spent", "down")
    assert job.attempt == BUDGET.max_attempts


def test_the_jobs_own_number_of_attempts_wins_over_the_kinds() -> None:
    job = ended(running(max_attempts=1), Retry(code="down"))

    assert (job.stage, job.code) == (Stage.DISCARDED, "budget_spent")


@pytest.mark.parametrize(
    ("asked", "waits"), [(5, 10), (60, 60), (10**9, 1280), (-3, 10), (float("nan"), 10)]
)
def test_a_providers_wish_lengthens_the_wait_up_to_the_longest(
    asked: float, waits: int
) -> None:
    failed = verdict(Retry(code="busy", not_before_seconds=asked))

    assert failed.retry_at == NOW + timedelta(seconds=waits)


def test_a_retry_beyond_the_deadline_is_the_end() -> None:
    soon = running(deadline=NOW + timedelta(seconds=9))

    assert verdict(Retry(code="down"), soon) == Discarded(
        attempt=1, token=TOKEN, code="deadline_exceeded", error_code="down", error=""
    )


@pytest.mark.parametrize("ending", GIVEN_BACK, ids=lambda each: type(each).__name__)
def test_what_is_not_the_jobs_fault_costs_no_attempt(ending: Ending) -> None:
    """I3: holds, snoozes, polite stops, lost leases and unfit claims are free."""
    assert verdict(ending).attempt == 0
    assert ended(running(), ending).attempt == 0


def test_a_lost_lease_costs_an_attempt_once_a_provider_was_asked() -> None:
    lost = LeaseLost(cause="lease_lost", call_began=True)
    last = msgspec.structs.replace(running(), attempt=BUDGET.max_attempts)

    assert verdict(lost) == LeaseExpired(
        attempt=1, token=TOKEN, cause="lease_lost", retry_at=NOW
    )
    assert verdict(lost, last).code == "budget_spent"
    assert verdict(LeaseLost(cause="lease_lost"), last).attempt == last.attempt - 1


def test_a_snooze_into_the_past_means_now() -> None:
    past = Snooze(until=NOW - timedelta(days=9))

    assert verdict(past) == Snoozed(attempt=0, token=TOKEN, until=NOW, cause="snoozed")


def test_parking_again_and_again_counts_and_never_overflows() -> None:
    """S8: the wait follows the same schedule, counted in parkings."""
    job = at(Stage.WAITING)
    for n, waits in enumerate((10, 20, 40, 80), 1):
        parked = settle(after(job, CLAIM), Park(cause="off"), BUDGET, Moment(NOW))
        assert only(parked) == Parked(
            attempt=0,
            token=2 * n,
            until=NOW + timedelta(seconds=waits),
            cause="off",
            parkings=n,
        )
        job = ended(after(job, CLAIM), Park(cause="off"))
    full = msgspec.structs.replace(after(job, CLAIM), parkings=LARGEST_ATTEMPT)

    assert verdict(Park(cause="off"), full).parkings == LARGEST_ATTEMPT
    assert job.cause is Cause.PARKED
    assert ended(after(job, CLAIM), Retry(code="down")).parkings == 0


def test_a_polite_stop_gives_the_job_back_at_once() -> None:
    assert verdict(Interrupted(cause="shutdown")) == Released(
        attempt=0, token=TOKEN, until=NOW, cause="shutdown"
    )


def test_a_failure_for_good_is_permanent_and_keeps_its_code() -> None:
    dead = verdict(Fail(code="bad_address", error="no such place"))

    assert (dead.code, dead.error_code) == ("permanent", "bad_address")
    assert verdict(Ambiguous(code="unknown")).code == "permanent"
    assert verdict(Fail(code="unstorable_result")).code == "unstorable_result"


@pytest.mark.parametrize(
    "ending",
    [
        Retry(code="down"),
        Snooze(until=LATER),
        Park(cause="off"),
        Interrupted(cause="shutdown"),
        LeaseLost(cause="process_gone"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_cancel_request_ends_what_is_left_unfinished(ending: Ending) -> None:
    asked = after(running(), Cancel())

    assert verdict(ending, asked) == Cancelled(attempt=1, code="operator")


def test_a_cancel_request_comes_too_late_for_finished_work() -> None:
    asked = after(running(), Cancel())

    assert isinstance(verdict(Completed(), asked), Succeeded)
    assert isinstance(verdict(Fail(code="no"), asked), Discarded)
    assert isinstance(verdict(Unfit(code="undecodable"), asked), Discarded)


def test_a_handler_may_cancel_its_own_job() -> None:
    assert verdict(Cancelling(code="gone")) == Cancelled(attempt=1, code="gone")


@pytest.mark.parametrize("stage", [each for each in Stage if each is not Stage.RUNNING])
def test_only_a_running_job_is_settled(stage: Stage) -> None:
    with pytest.raises(IllegalTransitionError):
        settle(at(stage), Completed(), BUDGET, Moment(NOW))


def test_a_claim_over_the_budget_never_begins() -> None:
    """S25: a row forced to its last attempt and to waiting."""
    spent = msgspec.structs.replace(running(), attempt=BUDGET.max_attempts + 1)

    unfit = before_run(spent, BUDGET, NOW)

    assert unfit == Unfit(code="budget_spent", error="no attempt was left to begin")
    assert verdict(unfit, spent).attempt == BUDGET.max_attempts


def test_a_claim_past_its_deadline_never_begins() -> None:
    late = running(deadline=NOW)

    assert before_run(late, BUDGET, NOW) is None
    unfit = before_run(late, BUDGET, NOW + timedelta(seconds=1))
    assert unfit is not None
    assert unfit.code == "deadline_exceeded"


def test_what_a_handler_says_is_stored_clean_redacted_and_short() -> None:
    failed = verdict(
        Retry(
            code="a\x00b\ud800" + "c" * 200, error="password=hunter2, \x00" + "x" * 999
        )
    )

    assert failed.code.startswith("a\ufffdb\ufffd")
    assert len(failed.code) == 127
    assert "hunter2" not in failed.error
    assert len(failed.error) == 500


def test_a_job_waits_by_its_own_kinds_rule() -> None:
    patient = Budget(max_attempts=9, backoff=Backoff(base_seconds=60, jitter=0))

    assert verdict(Retry(code="down"), budget=patient).retry_at == NOW + timedelta(
        seconds=120
    )
