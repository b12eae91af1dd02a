"""Every job that ever was, in a line: its state, why, when, by whom, for what.

Unlike the heads, which end with the work, a row stays.  Never arguments, results or
error texts (I12): of the arguments only which record the job serves.
"""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final, Protocol, override
from uuid import UUID

import msgspec
from msgspec.structs import replace

from domain.event import Event, Instant
from domain.jobs.events import (
    RETRIED,
    AttemptFailed,
    Cancelled,
    CancelRequested,
    Claimed,
    Discarded,
    Enqueued,
    LeaseExpired,
    Parked,
    Released,
    Rescheduled,
    Retried,
    Snoozed,
    Succeeded,
    Unparked,
)
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection

_OF_GOODS: Final = frozenset({"goods_delivery", "goods_reconcile"})

type Changes = dict[str, Any]
"""Columns of a row and what they hold from now on."""


class JobRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One job."""

    stream_id: UUID
    tenant_id: str
    created_at: Instant
    updated_at: Instant
    correlation_id: str
    version: int
    state: str
    """`waiting`, `running`, `succeeded`, `discarded` or `cancelled`."""
    cause: str | None
    """Why it waits: `after_failure` or `parked`; None: it is due at `run_at`."""
    kind: str
    queue: str
    priority: int
    attempt: int
    """Attempts spent; a running job has spent the one it is in."""
    max_attempts: int | None
    """None: what its kind allows."""
    parkings: int
    run_at: Instant | None
    """When it is due, or was; None: it waits, or waited to its end, at a gate."""
    deadline: Instant | None
    gate: str | None
    """The closed gate that it waits at."""
    cancel_requested: bool
    code: str | None
    """Why it is dead."""
    error_code: str | None
    """What its last failed attempt met."""
    owner_host: str | None
    """The worker that claimed it last; it stays when the job has ended."""
    owner_pid: int | None
    owner_boot: UUID | None
    claimed_at: Instant | None
    finished_at: Instant | None
    """When it succeeded or died; None again after an operator's retry."""
    operation_id: UUID | None
    """The operation that it carries to the panel."""
    order_stream_id: UUID | None
    """The order whose dues it decides."""
    order_id: str | None
    """The order that it takes back, by the shop's own id."""
    delivery_id: UUID | None
    """The goods that it buys, or asks the provider about."""


def _born(recorded: RecordedEvent, event: Enqueued) -> JobRow:
    args = event.args
    return JobRow(
        stream_id=recorded.stream_id,
        tenant_id=recorded.tenant_id,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
        correlation_id=recorded.meta.correlation_id,
        version=recorded.version,
        state="waiting",
        cause=None,
        kind=event.kind,
        queue=event.queue,
        priority=event.priority,
        attempt=0,
        max_attempts=event.max_attempts,
        parkings=0,
        run_at=event.run_at,
        deadline=event.deadline,
        gate=None,
        cancel_requested=False,
        code=None,
        error_code=None,
        owner_host=None,
        owner_pid=None,
        owner_boot=None,
        claimed_at=None,
        finished_at=None,
        operation_id=(
            _id(args.get("operation_id")) if event.kind == "fulfillment" else None
        ),
        order_stream_id=(
            _id(args.get("order_stream_id")) if event.kind == "order_fanout" else None
        ),
        order_id=(
            _text(args.get("order_id")) if event.kind == "order_refund" else None
        ),
        delivery_id=_id(args.get("delivery_id")) if event.kind in _OF_GOODS else None,
    )


def _id(told: object) -> UUID | None:
    try:
        return UUID(told) if isinstance(told, str) else None
    except ValueError:
        return None


def _text(told: object) -> str | None:
    return told if isinstance(told, str) else None


def _claimed(event: Claimed, at: Instant) -> Changes:
    return {
        "state": "running",
        "cause": None,
        "gate": None,
        "attempt": event.attempt,
        "owner_host": event.owner.host,
        "owner_pid": event.owner.pid,
        "owner_boot": event.owner.boot,
        "claimed_at": at,
    }


def _attempt_failed(event: AttemptFailed, _at: Instant) -> Changes:
    waiting = _waiting(event.retry_at, event.attempt, "after_failure")
    return waiting | {"error_code": event.code, "parkings": 0}


def _snoozed(event: Snoozed, _at: Instant) -> Changes:
    return _waiting(event.until, event.attempt) | {"parkings": 0}


def _parked(event: Parked, _at: Instant) -> Changes:
    return _waiting(
        event.until if event.gate is None else None, event.attempt, "parked"
    ) | {
        "parkings": event.parkings,
        "error_code": event.cause,
        "gate": event.gate,
    }


def _unparked(event: Unparked, _at: Instant) -> Changes:
    return {"run_at": event.run_at, "cause": None, "gate": None}


def _rescheduled(event: Rescheduled, _at: Instant) -> Changes:
    waiting = _waiting(event.run_at, event.attempt)
    if event.cause != RETRIED:
        return waiting
    return waiting | {"parkings": 0, "error_code": None, "deadline": None}


def _released(event: Released, _at: Instant) -> Changes:
    return _waiting(event.until, event.attempt)


def _lease_expired(event: LeaseExpired, _at: Instant) -> Changes:
    waiting = _waiting(event.retry_at, event.attempt, "after_failure")
    return waiting | {"error_code": event.cause}


def _retried(event: Retried, _at: Instant) -> Changes:
    return _waiting(event.run_at, 0) | {
        "parkings": 0,
        "code": None,
        "error_code": None,
        "deadline": None,
        "finished_at": None,
    }


def _waiting(run_at: Instant | None, attempt: int, cause: str | None = None) -> Changes:
    return {
        "state": "waiting",
        "run_at": run_at,
        "attempt": attempt,
        "cause": cause,
        "gate": None,
        "cancel_requested": False,
    }


def _succeeded(event: Succeeded, at: Instant) -> Changes:
    return _ended("succeeded", event.attempt, at)


def _discarded(event: Discarded, at: Instant) -> Changes:
    why = {"code": event.code, "error_code": event.error_code}
    return _ended("discarded", event.attempt, at) | why


def _cancelled(event: Cancelled, at: Instant) -> Changes:
    return _ended("cancelled", event.attempt, at) | {"code": event.code}


def _ended(state: str, attempt: int, at: Instant) -> Changes:
    return {
        "state": state,
        "attempt": attempt,
        "cause": None,
        "gate": None,
        "cancel_requested": False,
        "finished_at": at,
    }


def _cancel_requested(_event: CancelRequested, _at: Instant) -> Changes:
    return {"cancel_requested": True}


class _Change(Protocol):
    def __call__(self, event: Any, at: Instant, /) -> Changes:  # noqa: ANN401 - the class is its key
        """Return what the event changes; `at` is when it was recorded."""
        ...


_CHANGES: Final[Mapping[type[Event], _Change]] = {
    Claimed: _claimed,
    Succeeded: _succeeded,
    AttemptFailed: _attempt_failed,
    Snoozed: _snoozed,
    Parked: _parked,
    Unparked: _unparked,
    Rescheduled: _rescheduled,
    Released: _released,
    LeaseExpired: _lease_expired,
    Discarded: _discarded,
    CancelRequested: _cancel_requested,
    Cancelled: _cancelled,
    Retried: _retried,
}


class Jobs(Projection[JobRow]):
    """Folds each job's stream into its row."""

    name = "jobs"
    schema = 3
    row = JobRow
    key = ("stream_id",)
    events: ClassVar[Collection[type[Event]]] = (Enqueued, *_CHANGES)

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        """See `Projection.keys`."""
        return ((recorded.stream_id,),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        """See `Projection.is_birth`."""
        return recorded.version == 1

    @override
    def fold(
        self, key: Key, row: JobRow | None, recorded: RecordedEvent
    ) -> JobRow | None:
        """See `Projection.fold`."""
        del key
        event = recorded.event
        if isinstance(event, Enqueued):
            return _born(recorded, event)
        if row is None:
            return None  # the stream does not begin as jobs do
        at = recorded.recorded_at
        changes = _CHANGES[type(event)](event, at)
        return replace(row, version=recorded.version, updated_at=at, **changes)
