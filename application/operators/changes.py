"""What an operator's command changes: the job's events, and its record's after them."""

from collections.abc import Sequence

from application.fulfillment.record import follow
from application.unit import Head, Locked
from domain.event import Event
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import FulfillmentCommand
from domain.jobs import aggregate as jobs
from domain.jobs.aggregate import Job, JobCommand
from domain.jobs.events import JobEvent
from domain.stream import Change, Ref, State


def state_of[S: State](locked: Locked, ref: Ref | None, kind: type[S]) -> S | None:
    """Return the locked state of `ref`, or None when there is none."""
    head = None if ref is None else locked.get(ref)
    return head.state if head is not None and isinstance(head.state, kind) else None


def commanded(
    locked: Locked, job: Ref, record: Ref | None, command: JobCommand
) -> tuple[Change, ...]:
    """Return the change of a locked job by `command`, and its record's after it.

    None when it is so already.

    Raises:
        IllegalTransitionError: the command makes no sense at the job's stage.
    """
    state = state_of(locked, job, Job)
    events = () if state is None else jobs.decide(state, command)
    if state is None or not events:
        return ()
    changed = _change(job, locked[job], events, jobs.fold(events, state))
    operation = state_of(locked, record, FulfillmentOperation)
    if record is None or operation is None:
        return (changed,)
    return (*_following(record, locked[record], operation, events), changed)


def _following(
    ref: Ref, head: Head, operation: FulfillmentOperation, after: Sequence[JobEvent]
) -> tuple[Change, ...]:
    followed: list[Event] = []
    for job_event in after:
        for event in follow(operation, job_event):
            followed.append(event)
            operation = operations.evolve(operation, event)
    return (_change(ref, head, followed, operation),) if followed else ()


def record_commanded(
    locked: Locked, record: Ref, command: FulfillmentCommand
) -> tuple[Change, ...]:
    """Return the change of a locked record alone; none when it is so already.

    Raises:
        IllegalTransitionError: the command makes no sense at the record's stage.
    """
    operation = state_of(locked, record, FulfillmentOperation)
    events = () if operation is None else operations.decide(operation, command)
    if operation is None or not events:
        return ()
    for event in events:
        operation = operations.evolve(operation, event)
    return (_change(record, locked[record], events, operation),)


def _change(ref: Ref, head: Head, events: Sequence[Event], state: State) -> Change:
    return Change(
        ref=ref,
        tenant_id=head.tenant_id,
        expected=head.state.version,
        events=tuple(events),
        state=state,
    )
