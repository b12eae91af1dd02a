"""Operations on the panel: where each one stands, and what it has met last.

The row of an operation has its head's columns, and when it was asked for and ended.
Customer and order are looked up beside it: they are facts of other streams.
"""

from collections.abc import Collection
from typing import ClassVar, override
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from domain.event import Event, Instant
from domain.fulfillment.events import (
    AttemptFailed,
    AttemptStarted,
    Cancelled,
    Failed,
    Interrupted,
    Parked,
    Requested,
    Retried,
    Succeeded,
)
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection


class OperationRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One operation."""

    stream_id: UUID
    tenant_id: str
    state: str
    """`pending`, `running`, `retrying`, `failed`, `succeeded` or `cancelled`."""
    operation: str
    entitlement_id: UUID
    order_stream_id: UUID | None
    """The order that is fulfilled when it succeeds."""
    desired_version: int
    attempts: int
    code: str | None = None
    """What the last unfinished or final attempt met."""
    parked_cause: str | None = None
    """The present episode of parking; None when there is none."""
    next_attempt_at: Instant | None = None
    """When the last failure said so; a first attempt is due at `effective_at`."""
    effective_at: Instant
    covered_by: UUID | None = None
    correlation_id: str
    created_at: Instant
    updated_at: Instant
    completed_at: Instant | None = None
    """When it succeeded, failed or was cancelled; None again after a retry."""


class Operations(Projection[OperationRow]):
    """One row for each operation that was ever asked for."""

    name: ClassVar[str] = "operations"
    row = OperationRow
    key: ClassVar[tuple[str, ...]] = ("stream_id",)
    events: ClassVar[Collection[type[Event]]] = (
        Requested,
        AttemptStarted,
        AttemptFailed,
        Interrupted,
        Parked,
        Succeeded,
        Failed,
        Cancelled,
        Retried,
    )

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        return ((recorded.stream_id,),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        return isinstance(recorded.event, Requested)

    @override
    def fold(
        self, key: Key, row: OperationRow | None, recorded: RecordedEvent
    ) -> OperationRow | None:
        event, at = recorded.event, recorded.recorded_at
        if isinstance(event, Requested):
            return _asked(event, recorded)
        if row is None:
            return None
        row = replace(row, updated_at=at)
        match event:
            case AttemptStarted(attempt=attempt):
                return replace(
                    row, state="running", attempts=attempt, next_attempt_at=None
                )
            case AttemptFailed(code=code, retry_at=retry_at):
                failed = replace(row, state="retrying", code=code, parked_cause=None)
                return replace(failed, next_attempt_at=retry_at)
            case Interrupted(cause=cause):
                return replace(row, state="retrying", code=cause)
            case Parked(cause=cause):
                parked = replace(row, state="retrying", code=cause, parked_cause=cause)
                return replace(parked, next_attempt_at=None)
            case Succeeded():
                return _ended(row, "succeeded", None, at)
            case Failed(code=code):
                return _ended(row, "failed", code, at)
            case Cancelled(code=code, covered_by=covered_by):
                ended = _ended(row, "cancelled", code, at)
                return replace(ended, covered_by=covered_by)
            case Retried():
                again = replace(row, state="pending", code=None, completed_at=None)
                return replace(again, parked_cause=None, next_attempt_at=None)
            case _:
                return row


def _asked(event: Requested, recorded: RecordedEvent) -> OperationRow:
    return OperationRow(
        stream_id=recorded.stream_id,
        tenant_id=recorded.tenant_id,
        state="pending",
        operation=event.operation,
        entitlement_id=event.entitlement,
        order_stream_id=event.order,
        desired_version=event.desired_version,
        attempts=0,
        effective_at=event.effective_at,
        correlation_id=recorded.meta.correlation_id,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
    )


def _ended(
    row: OperationRow, state: str, code: str | None, at: Instant
) -> OperationRow:
    return replace(
        row,
        state=state,
        code=code,
        parked_cause=None,
        next_attempt_at=None,
        completed_at=at,
    )
