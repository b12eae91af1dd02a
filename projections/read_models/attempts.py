"""Attempt history: one row for each change of a job or an operation.

What happened, when, under which attempt, with which code, and who did it; never
arguments, results, texts of errors or what a panel answered.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, override
from uuid import UUID

import msgspec

from domain.event import Event, Instant
from domain.fulfillment import events as operations
from domain.jobs import events as jobs
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection

JOB: Final = "job"
OPERATION: Final = "operation"

STATUSES: Final[Mapping[type[Event], str]] = MappingProxyType(
    {
        jobs.Enqueued: "waiting",
        jobs.Claimed: "running",
        jobs.Succeeded: "succeeded",
        jobs.AttemptFailed: "waiting",
        jobs.Snoozed: "waiting",
        jobs.Parked: "waiting",
        jobs.Unparked: "waiting",
        jobs.Released: "waiting",
        jobs.LeaseExpired: "waiting",
        jobs.Discarded: "discarded",
        jobs.CancelRequested: "running",
        jobs.Cancelled: "cancelled",
        jobs.Retried: "waiting",
        operations.Requested: "pending",
        operations.AttemptStarted: "running",
        operations.AttemptFailed: "retrying",
        operations.Interrupted: "retrying",
        operations.Parked: "retrying",
        operations.Succeeded: "succeeded",
        operations.Failed: "failed",
        operations.Cancelled: "cancelled",
        operations.Retried: "pending",
    }
)
"""The state of a job or an operation after each event."""

TYPES: Final = tuple(event.tag for event in STATUSES)
"""Every type that a row may have."""


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one job or operation."""

    stream_id: UUID
    version: int
    tenant_id: str
    stream_kind: str
    """`job` or `operation`."""
    position: int
    type: str
    """The tag of its event: what happened."""
    status: str
    """The state afterwards."""
    attempt: int | None
    """Attempts spent, where the event counts them."""
    code: str | None
    """Why: a failure's code, or the cause of a wait."""
    error_code: str | None
    """What the last attempt of a discarded job met."""
    correlation_id: str
    recorded_at: Instant
    actor_type: str
    actor_id: str
    token: int | None
    """Fencing token of the claim under which it was written."""


class Attempts(Projection[AttemptRow]):
    """Folds every event of jobs and operations into a row of its own."""

    name = "attempts"
    row = AttemptRow
    key = ("stream_id", "version")
    events = tuple(STATUSES)

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        return ((recorded.stream_id, recorded.version),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        return True

    @override
    def fold(
        self, key: Key, row: AttemptRow | None, recorded: RecordedEvent
    ) -> AttemptRow | None:
        event, meta = recorded.event, recorded.meta
        is_job = event.tag.startswith("job.")
        return AttemptRow(
            stream_id=recorded.stream_id,
            version=recorded.version,
            tenant_id=recorded.tenant_id,
            stream_kind=JOB if is_job else OPERATION,
            position=recorded.position,
            type=event.tag,
            status=STATUSES[type(event)],
            attempt=getattr(event, "attempt", None),
            code=getattr(event, "code", getattr(event, "cause", None)),
            error_code=getattr(event, "error_code", None),
            correlation_id=meta.correlation_id,
            recorded_at=recorded.recorded_at,
            actor_type=meta.actor.type,
            actor_id=meta.actor.id,
            token=getattr(event, "token", None) if is_job else meta.causation.token,
        )
