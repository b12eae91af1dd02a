"""Dead letters: what nothing will run again without a person.

 none ──► open ──► ended      by a person's retry, cancel, decision or dismissal; a
           ▲         │         review also by what a provider says late
           └─────────┘        it has died again: the same row, a new letter

One row for each job, operation and delivery that is not over for good or has died
once; it never comes back by itself.  A dead job and the record that it serves are one
letter, the record's: whoever ends such a job fails the operation, or has the delivery
reviewed, in the same transaction, unless that had ended by itself, and then nobody has
to do anything.  Goods that are given up and refunded at once were nobody's letter.
"""

import re
from typing import Final, override
from uuid import UUID

from msgspec.structs import replace

from domain.event import Actor, Event
from domain.fulfillment import events as operations
from domain.goods import events as goods
from domain.jobs import events as jobs
from domain.operators.events import LetterAcknowledged, LetterDismissed
from domain.recorded import RecordedEvent
from projections.read_models.letter_row import LetterRow
from projections.read_models.projection import Key, Projection

NONE: Final = "none"
OPEN: Final = "open"
ENDED: Final = "ended"

JOB: Final = "job"
OPERATION: Final = "operation"
DELIVERY: Final = "delivery"

RETRIED: Final = "retried"
CANCELLED: Final = "cancelled"
DECIDED: Final = "decided"
DELIVERED: Final = "delivered"
REFUNDED: Final = "refunded"
DISMISSED: Final = "dismissed"

CARRIER: Final = "fulfillment"
"""Kind of the jobs that carry operations; an operation's letter is of this kind."""
BUYER: Final = "goods_delivery"
"""Kind of the jobs that buy goods; a delivery's letter is of this kind."""
CARRIERS: Final = frozenset({CARRIER, BUYER, "goods_reconcile"})
"""Kinds of jobs whose deaths are told by the records that they serve."""

_CARRIERS_QUEUE: Final = "critical"  # of all that a customer has paid for
_FANOUT: Final = "order_fanout"

# The unique key of the product's own jobs is their kind and what they are about.
_ABOUT: Final = re.compile(
    r"(?P<kind>[a-z_]+):(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)


class DeadLetters(Projection[LetterRow]):
    """Folds jobs without a record, operations and deliveries."""

    name = "dead_letters"
    schema = 3
    row = LetterRow
    key = ("stream_id",)
    events = (
        jobs.Enqueued,
        jobs.Succeeded,
        jobs.Discarded,
        jobs.Retried,
        operations.Requested,
        operations.Succeeded,
        operations.Failed,
        operations.Cancelled,
        operations.Retried,
        goods.Owed,
        goods.ReviewOpened,
        goods.ReviewDecided,
        goods.Delivered,
        goods.Failed,
        goods.Refunded,
        goods.Cancelled,
        goods.Retried,
        LetterAcknowledged,
        LetterDismissed,
    )

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        match recorded.event:
            case LetterAcknowledged(letter=letter) | LetterDismissed(letter=letter):
                return ((letter,),)
            case _:
                return () if _is_carrier(recorded) else ((recorded.stream_id,),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        births = jobs.Enqueued | operations.Requested | goods.Owed
        return isinstance(recorded.event, births)

    @override
    def fold(
        self, key: Key, row: LetterRow | None, recorded: RecordedEvent
    ) -> LetterRow | None:
        match recorded.event:
            case jobs.Enqueued() as event:
                return _job(event, recorded)
            case operations.Requested() as event:
                return _operation(event, recorded)
            case goods.Owed() as event:
                return _delivery(event, recorded)
            case _ if row is None:
                return None
            case event:
                return _later(row, event, recorded)


def _is_carrier(recorded: RecordedEvent) -> bool:
    """Whether a job is born that serves a record, so that its death is told there.

    Whoever else asks for a job of that kind, through the front door, owns its death.
    """
    event = recorded.event
    return (
        isinstance(event, jobs.Enqueued)
        and event.kind in CARRIERS
        and recorded.meta.actor.type != "shop"
        and _about(event) is not None
    )


def _about(event: jobs.Enqueued) -> UUID | None:
    """Return the id in the job's key, where that is one of the product's own."""
    found = _ABOUT.fullmatch(event.unique_key or "")
    return UUID(found["id"]) if found and found["kind"] == event.kind else None


def _job(event: jobs.Enqueued, recorded: RecordedEvent) -> LetterRow:
    row = _born(recorded, JOB, event.kind, event.queue)
    order = _about(event) if event.kind == _FANOUT else None
    return replace(row, job_id=recorded.stream_id, order_stream_id=order)


def _operation(event: operations.Requested, recorded: RecordedEvent) -> LetterRow:
    return replace(
        _born(recorded, OPERATION, CARRIER, _CARRIERS_QUEUE),
        operation=event.operation,
        order_stream_id=event.order,
        entitlement_id=event.entitlement,
    )


def _delivery(event: goods.Owed, recorded: RecordedEvent) -> LetterRow:
    row = _born(recorded, DELIVERY, BUYER, _CARRIERS_QUEUE)
    return replace(row, order_stream_id=event.order)


def _born(recorded: RecordedEvent, of: str, kind: str, queue: str) -> LetterRow:
    return LetterRow(
        stream_id=recorded.stream_id,
        tenant_id=recorded.tenant_id,
        stream_kind=of,
        state=NONE,
        kind=kind,
        queue=queue,
        operation=None,
        job_id=None,
        order_stream_id=None,
        entitlement_id=None,
        correlation_id=recorded.meta.correlation_id,
        code=None,
        error_code=None,
        attempt=0,
        died_at=None,
        ended_at=None,
        ended_how=None,
        ended_by_type=None,
        ended_by=None,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
        acknowledged_at=None,
        acknowledged_by=None,
    )


def _later(row: LetterRow, event: Event, recorded: RecordedEvent) -> LetterRow | None:
    """Return the row after any event but its first."""
    row = replace(row, updated_at=recorded.recorded_at)
    match event:
        case jobs.Discarded():
            died = _died(row, event.code, event.attempt, recorded)
            return replace(died, error_code=event.error_code)
        case operations.Failed():
            died = _died(row, event.code, event.attempt, recorded)
            return replace(died, job_id=recorded.meta.causation.job)
        case LetterAcknowledged():
            return _acknowledged(row, recorded)
        case LetterDismissed():
            return _ended(row, DISMISSED, recorded)
        case jobs.Retried() | operations.Retried():
            return _ended(row, RETRIED, recorded)
        case _ if row.stream_kind == DELIVERY:
            return _of_goods(row, event, recorded)
        case operations.Cancelled() if row.state == OPEN:
            return _ended(row, CANCELLED, recorded)
        case jobs.Succeeded() | operations.Succeeded() | operations.Cancelled():
            # Over for good: what has never been a letter will never be one.
            return None if row.state == NONE else row
        case _:
            return row


def _acknowledged(row: LetterRow, recorded: RecordedEvent) -> LetterRow:
    if row.state != OPEN:
        return row
    by, at = recorded.meta.actor.id, recorded.recorded_at
    return replace(row, acknowledged_at=at, acknowledged_by=by)


def _of_goods(
    row: LetterRow, event: Event, recorded: RecordedEvent
) -> LetterRow | None:
    match event:
        case goods.ReviewOpened(code=code, decision=decision):
            died = _died(row, code, decision, recorded)
            return replace(died, job_id=recorded.meta.causation.job)
        case goods.Failed(code=code):
            died = _died(row, code, 0, recorded)
            return replace(died, job_id=recorded.meta.causation.job)
        case goods.Retried():
            return _ended(row, RETRIED, recorded)
        case goods.ReviewDecided():
            return _ended(row, DECIDED, recorded)
        case goods.Cancelled() if row.state == OPEN:
            return _ended(row, CANCELLED, recorded)
        case goods.Delivered() if row.state == OPEN:
            return _ended(row, DELIVERED, recorded)
        case goods.Refunded() if row.state == OPEN:
            # What a worker refunds as soon as it is given up has waited for nobody.
            is_persons = recorded.meta.actor.type == "operator"
            return _ended(row, REFUNDED, recorded) if is_persons else None
        case _:
            # Over for good: what has never been a letter will never be one.
            return None if row.state == NONE else row


def _died(
    row: LetterRow, code: str, attempt: int, recorded: RecordedEvent
) -> LetterRow:
    return replace(
        row,
        state=OPEN,
        code=code,
        attempt=attempt,
        died_at=recorded.recorded_at,
        ended_at=None,
        ended_how=None,
        ended_by_type=None,
        ended_by=None,
        acknowledged_at=None,
        acknowledged_by=None,
    )


def _ended(row: LetterRow, how: str, recorded: RecordedEvent) -> LetterRow:
    """End the letter, if there is one: what was cancelled can be retried as well."""
    if row.state != OPEN:
        return row
    by: Actor = recorded.meta.actor
    return replace(
        row,
        state=ENDED,
        ended_at=recorded.recorded_at,
        ended_how=how,
        ended_by_type=by.type,
        ended_by=by.id,
    )
