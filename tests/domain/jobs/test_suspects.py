"""Who died with its process is a suspect; only a death while alone proves anything."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.aggregate import HANDLER_TIMEOUT, Cancel, Job, RetryDead, Stage
from domain.jobs.outcome import Completed, Fail, Park, Retry, Snooze
from domain.jobs.verdict import Budget, Ending, Interrupted, LeaseLost, Moment, settle
from tests.domain.jobs.stages import (
    BUDGET,
    CLAIM,
    LATER,
    NOW,
    after,
    ended,
    only,
    running,
)

DIED = LeaseLost(cause="process_gone", died=True)
DIED_ALONE = LeaseLost(cause="process_gone", died=True, was_only=True, how="signal 11")
RETURNED: list[Ending] = [
    Retry(code="down"),
    Snooze(until=LATER),
    Park(cause="off"),
]


def verdict(job: Job, ending: Ending, budget: Budget = BUDGET) -> Any:  # noqa: ANN401 - compared with what is expected
    return only(settle(job, ending, budget, Moment(NOW)))


def suspect() -> Job:
    """Return a job that runs alone, because its process died."""
    return after(ended(running(), DIED), CLAIM)


def test_a_job_that_died_with_others_is_a_suspect_and_has_no_crash() -> None:
    expired = verdict(running(), DIED)

    assert (expired.cause, expired.is_suspect, expired.crashes) == (
        "process_gone",
        True,
        0,
    )
    assert expired.attempt == 0
    assert expired.retry_at == NOW
    assert suspect().is_suspect


@pytest.mark.parametrize("cause", ["process_gone", "lease_lost"])
def test_nobody_is_suspected_of_a_lease_that_was_only_lost(cause: str) -> None:
    """The database was away, the process frozen, or it stopped in order."""
    lost = LeaseLost(cause=cause)

    assert not verdict(running(), lost).is_suspect
    alone = verdict(suspect(), lost)
    assert (alone.is_suspect, alone.crashes) == (True, 0)


def test_s6_three_deaths_are_enough_and_nothing_starts_a_fourth_time() -> None:
    job = running()
    starts = 1
    endings: list[Ending] = [DIED, DIED_ALONE, DIED_ALONE]
    for ending in endings[:-1]:
        job = after(ended(job, ending), CLAIM)
        starts += 1

    dead = verdict(job, endings[-1])

    assert starts == 3
    assert (dead.code, dead.error_code) == ("worker_crashed", "process_gone")
    assert dead.error == "3 processes died of it, the last by signal 11"
    assert dead.attempt == 0


def test_a_death_that_others_may_have_caused_counts_alone() -> None:
    """Its worker died around it, with others in it: that proves nothing of before."""
    job = suspect()
    for crashes in (1, 2):
        expired = verdict(job, DIED)
        assert (expired.crashes, expired.is_suspect) == (crashes, True)
        job = after(ended(job, DIED), CLAIM)

    assert verdict(job, DIED).code == "worker_crashed"


def test_after_a_crash_it_waits_by_its_kinds_rule() -> None:
    """What died for want of memory has time to find some."""
    crashed = verdict(suspect(), DIED_ALONE)

    assert crashed.crashes == 2
    assert crashed.retry_at == NOW + BUDGET.backoff.delay(2, 0)
    assert verdict(suspect(), DIED).retry_at == NOW  # it has waited for its lease


@pytest.mark.parametrize("ending", RETURNED, ids=lambda each: type(each).__name__)
def test_whose_handler_returns_is_no_suspect_any_more(ending: Ending) -> None:
    assert not ended(suspect(), ending).is_suspect


@pytest.mark.parametrize("ending", RETURNED, ids=lambda each: type(each).__name__)
def test_what_has_ended_a_process_runs_alone_for_ever(ending: Ending) -> None:
    proved = after(ended(suspect(), DIED_ALONE), CLAIM)

    returned = ended(proved, ending)

    assert (returned.is_suspect, returned.crashes) == (True, 2)


def test_a_suspect_that_was_not_run_to_its_end_stays_one() -> None:
    assert ended(suspect(), Interrupted(cause="shutdown")).is_suspect
    assert ended(suspect(), Retry(code=HANDLER_TIMEOUT)).is_suspect
    assert not ended(running(), Retry(code=HANDLER_TIMEOUT)).is_suspect


def test_i3_an_attempt_that_began_a_call_is_spent() -> None:
    asked = LeaseLost(cause="process_gone", died=True, was_only=True, call_began=True)
    last = Budget(max_attempts=1)

    assert verdict(suspect(), asked).attempt == 1
    assert verdict(suspect(), asked, last).code == "budget_spent"


def test_a_retry_by_a_person_starts_the_count_anew_and_keeps_it_alone() -> None:
    dead = ended(suspect(), DIED_ALONE, Budget(max_attempts=3, max_crashes=2))
    assert dead.stage is Stage.DISCARDED
    assert dead.is_suspect

    revived = after(dead, RetryDead(run_at=NOW))

    assert (revived.crashes, revived.is_suspect) == (0, True)


def test_a_cancel_request_ends_a_suspect_that_dies() -> None:
    asked = after(suspect(), Cancel())

    assert ended(asked, DIED_ALONE).stage is Stage.CANCELLED


def test_an_end_is_an_end_for_a_suspect_too() -> None:
    assert ended(suspect(), Completed()).stage is Stage.SUCCEEDED
    assert verdict(suspect(), Fail(code="no")).code == "permanent"


endings = st.sampled_from(
    [DIED, DIED_ALONE, LeaseLost(cause="lease_lost"), *RETURNED]
) | st.just(Interrupted(cause="shutdown"))


@given(st.lists(endings, max_size=40), st.integers(1, 5))
def test_no_order_of_endings_lets_it_die_more_often_than_allowed(
    said: list[Ending], most: int
) -> None:
    budget = Budget(max_attempts=100, max_crashes=most)
    job, proved = running(), 0
    for ending in said:
        was_suspect = job.is_suspect
        died = isinstance(ending, LeaseLost) and ending.died
        job = ended(job, ending, budget)
        proved += died and was_suspect
        if job.stage is Stage.DISCARDED:
            break
        job = after(job, CLAIM)

    assert proved <= most
    assert job.crashes <= most
    assert (job.code == "worker_crashed") == (job.stage is Stage.DISCARDED)
