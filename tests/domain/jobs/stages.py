"""Jobs at each stage, and what tests do to them."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from domain.jobs.aggregate import (
    Cancel,
    Claim,
    Enqueue,
    Job,
    JobCommand,
    Stage,
    decide,
    fold,
)
from domain.jobs.backoff import Backoff
from domain.jobs.events import JobEvent, Owner
from domain.jobs.outcome import Completed, Fail
from domain.jobs.verdict import Budget, Ending, Moment, settle

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OWNER = Owner(host="host", pid=7, boot=UUID(int=1))
BUDGET = Budget(max_attempts=3, backoff=Backoff(jitter=0.0))
CLAIM = Claim(owner=OWNER, lease_seconds=60)


def enqueued(**more: object) -> Enqueue:
    asked = {"kind": "noop", "args": {}, "run_at": NOW} | more
    return Enqueue(**asked)  # type: ignore[arg-type] # checked by the struct's users


def after(job: Job, *commands: JobCommand) -> Job:
    for command in commands:
        job = fold(decide(job, command), job)
    return job


def ended(
    job: Job, ending: Ending, budget: Budget = BUDGET, now: datetime = NOW
) -> Job:
    return fold(settle(job, ending, budget, Moment(now)), job)


def only(events: tuple[JobEvent, ...]) -> JobEvent:
    (event,) = events
    return event


def waiting(**more: object) -> Job:
    return after(Job(), enqueued(**more))


def running(**more: object) -> Job:
    return after(waiting(**more), CLAIM)


def discarded() -> Job:
    return ended(running(), Fail(code="no"))


def cancelled() -> Job:
    return after(waiting(), Cancel())


def at(stage: Stage) -> Job:
    """Return a job that has reached `stage`."""
    make: dict[Stage, Callable[[], Job]] = {
        Stage.UNBORN: Job,
        Stage.WAITING: waiting,
        Stage.RUNNING: running,
        Stage.SUCCEEDED: lambda: ended(running(), Completed()),
        Stage.DISCARDED: discarded,
        Stage.CANCELLED: cancelled,
    }
    return make[stage]()


LATER = NOW + timedelta(hours=1)
