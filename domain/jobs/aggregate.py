"""Decide and evolve: the whole life of a job.

          Enqueue            Claim                 Complete
 (unborn) ───────► waiting ────────► running ──────────────► succeeded ■
                    ▲ ▲                │ │ │
                    │ └── Fail, budget ┘ │ └─ Fail, budget spent or permanent
                    │     left           │          │
                    │ Snooze, Park,      │          ▼
                    ├─ Release, Expire ──┘      discarded
                    │  (attempt given back)         │
                    ├───────── RetryDead ───────────┤
                    │                               │
                    └──► cancelled ◄─ Cancel        │
                            └───────────────────────┘
 People move what waits, later or to now (`domain.jobs.moving`).
 Unpark ends the waiting at a closed gate (`domain.jobs.gates`).
 Cancel ends a waiting job at once; of a running one it is a request, and the next
 outcome that leaves the job unfinished then ends it as cancelled.

What a handler's outcome means is decided in one place, `domain.jobs.verdict`;
this module holds the state, its fold and the commands that need no outcome.
"""

from enum import StrEnum
from typing import assert_never

import msgspec

from domain.errors import IllegalTransitionError
from domain.event import Instant, JsonObject
from domain.jobs.events import (
    AttemptFailed,
    Cancelled,
    CancelRequested,
    Claimed,
    Discarded,
    Enqueued,
    JobEvent,
    LeaseExpired,
    Owner,
    Parked,
    Released,
    Rescheduled,
    Retried,
    Snoozed,
    Succeeded,
    Unparked,
)
from domain.stream import State

LARGEST_ATTEMPT = 2**31 - 1
"""Counters stop here instead of overflowing the column (S9)."""

HANDLER_TIMEOUT = "handler_timeout"
"""Code of an attempt whose handler was still running at its hard deadline."""


class Stage(StrEnum):
    """Where a job is in its life; the stored words."""

    UNBORN = "unborn"
    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"


class Cause(StrEnum):
    """Why a job waits, where it is not simply due or not due yet."""

    AFTER_FAILURE = "after_failure"
    PARKED = "parked"


class Job(State, frozen=True, kw_only=True):
    """What the rules remember of one job; the head's folded columns."""

    stage: Stage = Stage.UNBORN
    kind: str = ""
    queue: str = ""
    priority: int = 1
    unique_key: str | None = None
    serial_key: str | None = None
    serial_order: int = 0
    concurrency_limit: int = 1
    """How many jobs of its serial key may run at once, as far as it is concerned."""
    run_at: Instant | None = None
    max_attempts: int | None = None
    deadline: Instant | None = None
    cause: Cause | None = None
    attempt: int = 0
    """Attempts spent; a running job has spent the one it is in."""
    parkings: int = 0
    """Parkings in this episode; a finished attempt starts a new one."""
    gate: str | None = None
    """The closed gate that a parked job waits at; see `domain.jobs.gates`."""
    crashes: int = 0
    """Processes that are known to have died of it; a retry by a person starts anew."""
    is_suspect: bool = False
    """Whether its process may have died of it: then it runs alone."""
    token: int | None = None
    """Fencing token of the present claim; None unless running."""
    owner: Owner | None = None
    cancel_requested: bool = False
    code: str | None = None
    """Why the job is dead."""
    error_code: str | None = None
    """What the last failed attempt met."""


class Enqueue(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for work; every instant is already resolved by the database's clock."""

    kind: str
    args: JsonObject
    run_at: Instant
    queue: str = "default"
    priority: int = 1
    unique_key: str | None = None
    serial_key: str | None = None
    serial_order: int = 0
    concurrency_limit: int = 1
    max_attempts: int | None = None
    deadline: Instant | None = None


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Take a waiting job for `owner`."""

    owner: Owner
    lease_seconds: int


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """Stop the job: at once while it waits, by request while it runs."""

    code: str = "operator"


class RetryDead(msgspec.Struct, frozen=True, kw_only=True):
    """Revive a dead job; it is due at `run_at`."""

    run_at: Instant


type JobCommand = Enqueue | Claim | Cancel | RetryDead


def decide(job: Job, command: JobCommand) -> tuple[JobEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case Enqueue():
            _require(job, "enqueue", Stage.UNBORN)
            return (Enqueued(**msgspec.structs.asdict(command)),)
        case Claim():
            _require(job, "claim", Stage.WAITING)
            return (
                Claimed(
                    attempt=min(job.attempt, LARGEST_ATTEMPT - 1) + 1,
                    owner=command.owner,
                    token=job.version + 1,
                    lease_seconds=command.lease_seconds,
                ),
            )
        case Cancel():
            return _cancel(job, command)
        case RetryDead():
            _require(job, "retry", Stage.DISCARDED, Stage.CANCELLED)
            return (Retried(run_at=command.run_at),)
        case _:
            assert_never(command)


def _cancel(job: Job, command: Cancel) -> tuple[JobEvent, ...]:
    if job.stage is Stage.CANCELLED or job.cancel_requested:
        return ()
    _require(job, "cancel", Stage.WAITING, Stage.RUNNING)
    if job.stage is Stage.RUNNING:
        return (CancelRequested(),)
    return (Cancelled(attempt=job.attempt, code=command.code),)


def _require(job: Job, command: str, *stages: Stage) -> None:
    if job.stage not in stages:
        raise IllegalTransitionError(job.stage, command, stream="job")


def evolve(job: Job, event: JobEvent) -> Job:
    """Return the state after `event`.  Total: history is never rejected."""
    replace = msgspec.structs.replace
    job = _later(job, event)
    match event:
        case Enqueued():
            return _born(job, event)
        case Claimed():
            held = replace(job, token=event.token, owner=event.owner, cause=None)
            return replace(held, stage=Stage.RUNNING, attempt=event.attempt)
        case Succeeded():
            return _ended(job, Stage.SUCCEEDED, attempt=event.attempt)
        case AttemptFailed():
            failed = replace(job, error_code=event.code, parkings=0)
            return _waiting(failed, event.retry_at, event.attempt, Cause.AFTER_FAILURE)
        case Snoozed():
            return _waiting(replace(job, parkings=0), event.until, event.attempt, None)
        case Parked():
            parked = replace(job, parkings=event.parkings, error_code=event.cause)
            return _waiting(parked, event.until, event.attempt, Cause.PARKED)
        case Unparked():
            return _waiting(job, event.run_at, job.attempt, None)
        case Rescheduled():
            return _waiting(job, event.run_at, event.attempt, None)
        case Released():
            return _waiting(job, event.until, event.attempt, None)
        case LeaseExpired():
            lost = replace(job, error_code=event.cause)
            return _waiting(lost, event.retry_at, event.attempt, Cause.AFTER_FAILURE)
        case Discarded():
            ended = _ended(job, Stage.DISCARDED, attempt=event.attempt)
            return replace(ended, code=event.code, error_code=event.error_code)
        case CancelRequested():
            return replace(job, cancel_requested=True)
        case Cancelled():
            ended = _ended(job, Stage.CANCELLED, attempt=event.attempt)
            return replace(ended, code=event.code)
        case Retried():
            return _waiting(job, event.run_at, 0, None)
        case _:
            assert_never(event)


def _later(job: Job, event: JobEvent) -> Job:
    """Return `job` one event later, with what that says of crashes, budget and gate."""
    replace = msgspec.structs.replace
    gate = event.gate if isinstance(event, Parked) else None
    job = replace(job, version=job.version + 1, gate=gate)
    match event:
        case LeaseExpired():
            return replace(job, crashes=event.crashes, is_suspect=event.is_suspect)
        case AttemptFailed() if event.code == HANDLER_TIMEOUT:
            return job  # nobody saw its handler return
        case AttemptFailed() | Snoozed() | Parked() if job.is_suspect:
            # Its handler returned.  What has ended a process stays alone for ever.
            return replace(job, is_suspect=job.crashes > 0)
        case Retried() | Rescheduled(cause="retried"):
            # A person's word outweighs a deadline that may have passed meanwhile.
            fresh = replace(job, parkings=0, code=None, error_code=None, deadline=None)
            return replace(fresh, crashes=0)
        case _:
            return job


def _born(job: Job, event: Enqueued) -> Job:
    facts = msgspec.structs.asdict(event)
    del facts["args"]  # the one member that no rule ever asks for
    return msgspec.structs.replace(job, stage=Stage.WAITING, **facts)


def _waiting(job: Job, run_at: Instant, attempt: int, cause: Cause | None) -> Job:
    return msgspec.structs.replace(
        job,
        stage=Stage.WAITING,
        run_at=run_at,
        attempt=attempt,
        cause=cause,
        token=None,
        owner=None,
        cancel_requested=False,
    )


def _ended(job: Job, stage: Stage, *, attempt: int) -> Job:
    return msgspec.structs.replace(
        job,
        stage=stage,
        attempt=attempt,
        cause=None,
        token=None,
        owner=None,
        cancel_requested=False,
    )


def fold(
    events: "tuple[JobEvent, ...] | list[JobEvent]", job: Job | None = None
) -> Job:
    """Return the state after `events`, from `job` or from the unborn."""
    state = Job() if job is None else job
    for event in events:
        state = evolve(state, event)
    return state


def holder(job: Job | None, token: int) -> bool:
    """Whether the claim that made `token` still holds the job (I4)."""
    return job is not None and job.stage is Stage.RUNNING and job.token == token
