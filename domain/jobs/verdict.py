"""The one function that decides what an outcome means: again, later, or dead.

Handler results, raised exceptions, timeouts, lost leases and the checks before
a run all come through here, so there is one answer to "is the budget spent?"
and one schedule.  The instant in the event *is* the schedule: the head's
`run_at` is set from it.
"""

from datetime import timedelta
from typing import assert_never

import msgspec

from domain.errors import IllegalTransitionError
from domain.event import Instant
from domain.jobs import outcome as said
from domain.jobs.aggregate import LARGEST_ATTEMPT, Job, Stage
from domain.jobs.backoff import Backoff
from domain.jobs.events import (
    AttemptFailed,
    Cancelled,
    Discarded,
    JobEvent,
    LeaseExpired,
    Parked,
    Released,
    Snoozed,
    Succeeded,
)
from domain.jobs.gates import WHEN_OPENED
from domain.text import clean, cut, storable

LONGEST_NAME = 127
"""Longest code or cause that is kept, as long as a kind's name may be."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How often a job may try and how it waits in between."""

    max_attempts: int
    backoff: Backoff = Backoff()
    max_crashes: int = 3
    """Processes that may die of a job before it is dead (`worker_crashed`)."""

    def of(self, job: Job) -> int:
        """Return the attempts that `job` may spend; its own number wins."""
        return self.max_attempts if job.max_attempts is None else job.max_attempts


class Moment(msgspec.Struct, frozen=True):
    """What a decision may know of the outside: the database's clock and a spin."""

    now: Instant
    spin: float = 0.0
    """Between -1 and 1; turns the backoff's jitter."""


class Interrupted(msgspec.Struct, frozen=True, kw_only=True):
    """The worker gives the job back unfinished: shutdown, lost race, undone claim."""

    cause: str
    wait_seconds: float = 0.0


class LeaseLost(msgspec.Struct, frozen=True, kw_only=True):
    """The lease ended: `process_gone` or `lease_lost`; was a call begun in it?"""

    cause: str
    call_began: bool = False
    died: bool = False
    """Whether its process ended without a word, so that it may have died of the job."""
    was_only: bool = False
    """Whether nothing else ran in that process that could have ended it."""
    how: str = ""
    """How the process ended, where that was seen at once."""


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """The claimed job must not run: it is dead, and its attempt never began (I3)."""

    code: str
    error: str = ""


type Ending = said.Outcome | Interrupted | LeaseLost | Unfit


def before_run(job: Job, budget: Budget, now: Instant) -> Unfit | None:
    """Return why a claimed job must not run, or None when it may."""
    if job.deadline is not None and job.deadline < now:
        return Unfit(
            code="deadline_exceeded", error=f"due by {job.deadline:%Y-%m-%dT%H:%M:%SZ}"
        )
    if job.attempt > budget.of(job):
        return Unfit(code="budget_spent", error="no attempt was left to begin")
    return None


def settle(
    job: Job, ending: Ending, budget: Budget, moment: Moment
) -> tuple[JobEvent, ...]:
    """Return the facts that end the present claim of a running job.

    Raises:
        IllegalTransitionError: the job is not running.
    """
    if job.stage is not Stage.RUNNING or job.token is None:
        raise IllegalTransitionError(job.stage, "settle", stream="job")
    token = job.token
    if isinstance(ending, said.Completed):
        return (Succeeded(attempt=job.attempt, token=token, result=ending.result),)
    if job.cancel_requested and not isinstance(ending, _DEADLY):
        return (Cancelled(attempt=job.attempt, code="operator"),)
    match ending:
        case said.Retry():
            return (_failed(job, token, ending, budget, moment),)
        case said.Snooze():
            return (_snoozed(job, token, ending, moment),)
        case said.Park():
            return (_parked(job, token, ending, budget, moment),)
        case said.Gated():
            return (_gated(job, token, ending),)
        case said.Fail() | said.Ambiguous():
            return (_dead(job, token, ending.code, ending.error),)
        case Unfit():
            dead = _dead(job, token, ending.code, ending.error)
            return (msgspec.structs.replace(dead, attempt=_given_back(job)),)
        case said.Cancel():
            return (Cancelled(attempt=job.attempt, code=_name(ending.code)),)
        case Interrupted():
            return (_released(job, token, ending, moment),)
        case LeaseLost():
            return (_expired(job, token, ending, budget, moment),)
        case _:
            assert_never(ending)


def _snoozed(job: Job, token: int, ending: said.Snooze, moment: Moment) -> Snoozed:
    return Snoozed(
        attempt=_given_back(job),
        token=token,
        until=max(ending.until, moment.now),
        cause=_name(ending.cause),
    )


def _released(job: Job, token: int, ending: Interrupted, moment: Moment) -> Released:
    return Released(
        attempt=_given_back(job),
        token=token,
        until=moment.now + timedelta(seconds=ending.wait_seconds),
        cause=ending.cause,
    )


_DEADLY = (said.Fail, said.Ambiguous, Unfit)
"""Endings that leave nothing for a requested cancel to stop."""

_OWN_CODES = frozenset(
    {
        "budget_spent",
        "deadline_exceeded",
        "undecodable",
        "unstorable_result",
        "worker_crashed",
    }
)
"""Codes of a discarded job that say by themselves why; any other is `permanent`."""


def _dead(job: Job, token: int, code: str, error: str) -> Discarded:
    own = code in _OWN_CODES
    return Discarded(
        attempt=job.attempt,
        token=token,
        code=code if own else "permanent",
        error_code=job.error_code if own else _name(code),
        error=storable(error),
    )


def _failed(
    job: Job, token: int, ending: said.Retry, budget: Budget, moment: Moment
) -> JobEvent:
    wait = budget.backoff.delay(job.attempt, moment.spin)
    if ending.not_before_seconds is not None:
        # In this order, or NaN would come through both of them.
        asked = min(max(0.0, ending.not_before_seconds), budget.backoff.longest_seconds)
        wait = max(wait, timedelta(seconds=asked))
    retry_at = moment.now + wait
    spent = _spent(job, budget, retry_at)
    if spent is not None:
        return Discarded(
            attempt=job.attempt,
            token=token,
            code=spent,
            error_code=_name(ending.code),
            error=storable(ending.error),
        )
    return AttemptFailed(
        attempt=job.attempt,
        token=token,
        code=_name(ending.code),
        error=storable(ending.error),
        retry_at=retry_at,
    )


def _spent(job: Job, budget: Budget, retry_at: Instant) -> str | None:
    if job.attempt >= budget.of(job):
        return "budget_spent"
    if job.deadline is not None and retry_at > job.deadline:
        return "deadline_exceeded"
    return None


def _parked(
    job: Job, token: int, ending: said.Park, budget: Budget, moment: Moment
) -> Parked:
    parkings = min(job.parkings, LARGEST_ATTEMPT - 1) + 1
    wait = budget.backoff.delay(parkings, moment.spin)
    return Parked(
        attempt=_given_back(job),
        token=token,
        until=moment.now + wait,
        cause=_name(ending.cause),
        parkings=parkings,
    )


def _gated(job: Job, token: int, ending: said.Gated) -> Parked:
    return Parked(
        attempt=_given_back(job),
        token=token,
        until=WHEN_OPENED,
        cause=_name(ending.cause),
        parkings=job.parkings,
        gate=_name(ending.gate),
    )


def _expired(
    job: Job, token: int, ending: LeaseLost, budget: Budget, moment: Moment
) -> JobEvent:
    """Return what follows from a lease that ended.

    Who died with others is a suspect, and runs next alone.  Only a death while alone
    raises the count; the first that proves it explains the death before it as well, so
    that what always ends its process is started as often as the count allows.
    """
    crashes = _crashes(job, ending)
    attempt = job.attempt if ending.call_began else _given_back(job)
    code, error = _beyond_rescue(job, ending, budget, crashes)
    if code:
        return Discarded(
            attempt=attempt,
            token=token,
            code=code,
            error_code=ending.cause,
            error=error,
        )
    # Who was rescued has waited for a lease to end already.
    is_fresh = crashes > job.crashes and ending.how != ""
    wait = budget.backoff.delay(crashes, moment.spin) if is_fresh else timedelta()
    return LeaseExpired(
        attempt=attempt,
        token=token,
        cause=ending.cause,
        retry_at=moment.now + wait,
        crashes=crashes,
        is_suspect=job.is_suspect or ending.died,
    )


def _crashes(job: Job, ending: LeaseLost) -> int:
    if not (ending.died and job.is_suspect):
        return job.crashes
    least = 1 if ending.was_only else 0
    return min(max(job.crashes, least), LARGEST_ATTEMPT - 1) + 1


def _beyond_rescue(
    job: Job, ending: LeaseLost, budget: Budget, crashes: int
) -> tuple[str, str]:
    """Return code and text of a job that is dead with its lease; "" if it is not."""
    if crashes > job.crashes and crashes >= budget.max_crashes:
        last = f", the last by {ending.how}" if ending.how else ""
        return "worker_crashed", f"{crashes} processes died of it{last}"
    if ending.call_began and job.attempt >= budget.of(job):
        return "budget_spent", "the lease ended after a provider had been asked"
    return "", ""


def _name(told: str) -> str:
    """Return a code or a cause as it may be stored, whatever the handler wrote."""
    return cut(clean(told), LONGEST_NAME)


def _given_back(job: Job) -> int:
    return max(job.attempt - 1, 0)
