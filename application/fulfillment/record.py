"""Whoever ends or moves a job moves its operation's record in the same transaction.

 job                      operation
 attempt_failed       ►   attempt_failed, due again when the job is
 parked               ►   parked (once an episode; at a gate each time)
 snoozed, released    ►   interrupted, when an attempt was on record
 lease_expired        ►   interrupted, with what became of the holder
 discarded            ►   failed
 cancelled            ►   cancelled
 retried              ►   retried

A job's success moves nothing here: its handler has said what the panel showed.  Nor
does the opening of a gate: what the operation met last is still that.
"""

from collections.abc import Sequence
from typing import assert_never

from application.unit import Head, changed
from domain.event import Event
from domain.fulfillment.aggregate import FulfillmentOperation, Stage, decide, evolve
from domain.fulfillment.commands import (
    Cancel,
    Fail,
    FailAttempt,
    FulfillmentCommand,
    Interrupt,
    Park,
    Retry,
)
from domain.fulfillment.events import FulfillmentEvent
from domain.jobs.events import (
    RETRIED,
    AttemptFailed,
    Cancelled,
    CancelRequested,
    Claimed,
    Discarded,
    Enqueued,
    JobEvent,
    LeaseExpired,
    Parked,
    Released,
    Rescheduled,
    Retried,
    Snoozed,
    Succeeded,
    Unparked,
)
from domain.stream import Change, Ref

_RETRIED = frozenset({Stage.FAILED, Stage.RETRYING})
_FINAL = frozenset({Stage.UNBORN, Stage.SUCCEEDED, Stage.CANCELLED})
"""Stages that no event of a job can move."""


def follow(
    operation: FulfillmentOperation, job_event: JobEvent
) -> tuple[FulfillmentEvent, ...]:
    """Return what the operation's record has to say after its job's event.

    Nothing, when the operation has ended by itself: covered, or confirmed under
    a claim that was lost afterwards.
    """
    command = _command(job_event)
    if command is None or operation.stage in _FINAL:
        return ()
    if operation.stage is Stage.FAILED and not isinstance(command, Retry | Cancel):
        return ()
    if operation.stage not in _RETRIED and isinstance(command, Retry):
        return ()
    return decide(operation, command)


def _command(event: JobEvent) -> FulfillmentCommand | None:
    match event:
        case AttemptFailed():
            return FailAttempt(code=event.code, retry_at=event.retry_at)
        case Parked():
            return Park(event.cause, is_new=event.gate is not None)
        case Snoozed() | Released() | LeaseExpired():
            return Interrupt(event.cause)
        case Discarded():
            return Fail(event.error_code or event.code)
        case Cancelled():
            return Cancel(event.code)
        case Retried():
            return Retry()
        case Rescheduled():
            return Retry() if event.cause == RETRIED else None
        case Enqueued() | Claimed() | CancelRequested() | Succeeded() | Unparked():
            return None
        case _:
            assert_never(event)


def record_change(
    ref: Ref, head: Head, after: Sequence[JobEvent]
) -> tuple[Change, ...]:
    """Return the change of a locked record that follows its job's events, if any."""
    operation = head.state
    if not isinstance(operation, FulfillmentOperation):
        return ()
    followed = list[Event]()
    for job_event in after:
        for event in follow(operation, job_event):
            followed.append(event)
            operation = evolve(operation, event)
    return (changed(ref, head, followed, operation),) if followed else ()
