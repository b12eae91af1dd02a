"""Facts about one job, in the past tense (a storage contract, see domain.event).

Heartbeats and progress are no events: they are volatile columns of the head.
`attempt` in an event is always the number of attempts spent *after* it.
"""

from typing import ClassVar
from uuid import UUID

import msgspec

from domain.event import Event, Instant, JsonObject


class Owner(msgspec.Struct, frozen=True):
    """The process that holds a claimed job."""

    host: str
    pid: int
    boot: UUID
    """Made anew at every start of a process, so a reused name inherits nothing."""


class Enqueued(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Work was asked for; it is due at `run_at`."""

    tag: ClassVar[str] = "job.enqueued"
    kind: str
    queue: str
    priority: int
    args: JsonObject
    unique_key: str | None
    serial_key: str | None
    serial_order: int
    run_at: Instant
    max_attempts: int | None
    """None: the kind's budget, resolved by the processor."""
    deadline: Instant | None
    concurrency_limit: int = 1
    """How many jobs of its serial key may run at once; 1 is left out."""


class Claimed(Event, frozen=True, kw_only=True):
    """A worker took the job; `token` fences everything it writes."""

    tag: ClassVar[str] = "job.claimed"
    attempt: int
    owner: Owner
    token: int
    """The version of this very event."""
    lease_seconds: int


class Succeeded(Event, frozen=True, kw_only=True):
    """The handler finished its work; final."""

    tag: ClassVar[str] = "job.succeeded"
    attempt: int
    token: int
    result: JsonObject | None


class AttemptFailed(Event, frozen=True, kw_only=True):
    """The attempt is spent; the next one starts at `retry_at`."""

    tag: ClassVar[str] = "job.attempt_failed"
    attempt: int
    token: int
    code: str
    error: str
    retry_at: Instant


class Snoozed(Event, frozen=True, kw_only=True):
    """The handler asked to be run later; the attempt is given back."""

    tag: ClassVar[str] = "job.snoozed"
    attempt: int
    token: int
    until: Instant
    cause: str


class Parked(Event, frozen=True, kw_only=True):
    """Something outside must change first; the attempt is given back."""

    tag: ClassVar[str] = "job.parked"
    attempt: int
    token: int
    until: Instant
    """The next look; the end of time when a gate has to be opened before it."""
    cause: str
    parkings: int
    gate: str | None = None
    """The closed gate that the job waits at; None: it looks again by itself."""


class Unparked(Event, frozen=True, kw_only=True):
    """The gate at which the job waited is open; it is due at `run_at`."""

    tag: ClassVar[str] = "job.unparked"
    run_at: Instant


SNOOZED = "snoozed"
RETRIED = "retried"
"""Causes of `job.rescheduled`."""


class Rescheduled(Event, frozen=True, kw_only=True):
    """A person moved a waiting job; it is due at `run_at`."""

    tag: ClassVar[str] = "job.rescheduled"
    attempt: int
    run_at: Instant
    cause: str
    """`snoozed`: later, as it is; `retried`: now, with its budget reset."""


class Released(Event, frozen=True, kw_only=True):
    """The worker gave the job back unfinished; the attempt is given back."""

    tag: ClassVar[str] = "job.released"
    attempt: int
    token: int
    until: Instant
    cause: str


class LeaseExpired(Event, frozen=True, kw_only=True):
    """The holder stopped confirming; the job waits again from `retry_at`.

    `cause` is `process_gone` (its boot id stopped beating, or the process that it had
    for itself ended without a word) or `lease_lost`.
    """

    tag: ClassVar[str] = "job.lease_expired"
    attempt: int
    token: int
    cause: str
    retry_at: Instant
    crashes: int = 0
    """Processes that are known to have died of it; see `domain.jobs.verdict`."""
    is_suspect: bool = False
    """Whether it runs next alone, because it may have ended its process."""


class Discarded(Event, frozen=True, kw_only=True):
    """Nothing runs the job again without a person; `code` says why."""

    tag: ClassVar[str] = "job.discarded"
    attempt: int
    token: int | None
    code: str
    error_code: str | None
    error: str


class CancelRequested(Event, frozen=True, kw_only=True):
    """An operator wants a running job cancelled; its worker is told."""

    tag: ClassVar[str] = "job.cancel_requested"


class Cancelled(Event, frozen=True, kw_only=True):
    """The job will not run (again)."""

    tag: ClassVar[str] = "job.cancelled"
    attempt: int
    code: str


class Retried(Event, frozen=True, kw_only=True):
    """An operator revived a dead job with its budget reset."""

    tag: ClassVar[str] = "job.retried"
    run_at: Instant


type JobEvent = (
    Enqueued
    | Claimed
    | Succeeded
    | AttemptFailed
    | Snoozed
    | Parked
    | Unparked
    | Rescheduled
    | Released
    | LeaseExpired
    | Discarded
    | CancelRequested
    | Cancelled
    | Retried
)
