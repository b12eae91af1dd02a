"""Attempt history: one row for each change of a job, an operation or a delivery.

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
from domain.goods import events as goods
from domain.jobs import events as jobs
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection

JOB: Final = "job"
OPERATION: Final = "operation"
DELIVERY: Final = "delivery"

_KINDS: Final = {"job": JOB, "fulfillment": OPERATION, "goods": DELIVERY}
"""By the first word of a tag."""

STATUSES: Final[Mapping[type[Event], str | None]] = MappingProxyType(
    {
        jobs.Enqueued: "waiting",
        jobs.Claimed: "running",
        jobs.Succeeded: "succeeded",
        jobs.AttemptFailed: "waiting",
        jobs.Snoozed: "waiting",
        jobs.Parked: "waiting",
        jobs.Unparked: "waiting",
        jobs.Rescheduled: "waiting",
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
        goods.Owed: "pending",
        goods.PurchaseSubmitted: "submitted",
        goods.PurchaseWithdrawn: None,
        goods.PurchaseConfirmed: None,
        goods.PurchaseAccepted: "submitted",
        goods.PurchaseRefused: "pending",
        goods.PurchaseUnknown: None,
        goods.SenderEnded: None,
        goods.Reconciled: None,
        goods.ReviewOpened: "needs_review",
        goods.DecisionProposed: "needs_review",
        goods.ReviewDecided: None,
        goods.Deferred: "pending",
        goods.Delivered: "delivered",
        goods.Failed: "failed",
        goods.Refunded: "refunded",
        goods.Cancelled: "cancelled",
        goods.Retried: "pending",
    }
)
"""The state after each event; None: the event alone does not tell it."""

TYPES: Final = tuple(event.tag for event in STATUSES)
"""Every type that a row may have."""


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one job, operation or delivery."""

    stream_id: UUID
    version: int
    tenant_id: str
    stream_kind: str
    """`job`, `operation` or `delivery`."""
    position: int
    type: str
    """The tag of its event: what happened."""
    status: str | None
    """The state afterwards; None: this event alone does not tell it."""
    attempt: int | None
    """Attempts spent, where the event counts them; of goods, purchases."""
    code: str | None
    """Why: a failure's code, or the cause of a wait; what a provider or a person
    said."""
    error_code: str | None
    """What the last attempt of a discarded job met; of a refused purchase its
    class."""
    correlation_id: str
    recorded_at: Instant
    actor_type: str
    actor_id: str
    token: int | None
    """Fencing token of the claim under which it was written."""


class Attempts(Projection[AttemptRow]):
    """Folds every event of jobs, operations and deliveries into a row of its own."""

    name = "attempts"
    schema = 3
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
            stream_kind=_KINDS[event.tag.partition(".")[0]],
            position=recorded.position,
            type=event.tag,
            status=STATUSES[type(event)],
            attempt=_attempt(event),
            code=_code(event),
            error_code=_error_code(event),
            correlation_id=meta.correlation_id,
            recorded_at=recorded.recorded_at,
            actor_type=meta.actor.type,
            actor_id=meta.actor.id,
            token=getattr(event, "token", None) if is_job else meta.causation.token,
        )


def _attempt(event: Event) -> int | None:
    match event:
        case (
            goods.PurchaseSubmitted() | goods.PurchaseWithdrawn() | goods.SenderEnded()
        ):
            return event.purchase
        case _:
            return getattr(event, "attempt", None)


def _code(event: Event) -> str | None:
    match event:
        case goods.Reconciled():
            return event.found
        case goods.DecisionProposed() | goods.ReviewDecided():
            return event.verdict
        case goods.SenderEnded():
            return event.how
        case _:
            return getattr(event, "code", getattr(event, "cause", None))


def _error_code(event: Event) -> str | None:
    match event:
        case goods.Reconciled():
            return event.code
        case goods.PurchaseRefused():
            return event.failure_class
        case _:
            return getattr(event, "error_code", None)
