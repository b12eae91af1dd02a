"""What an operator's command changes: the job's events, and its record's after them."""

from collections.abc import Callable

from application.records.following import record_change
from application.unit import Locked, changed
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import FulfillmentCommand
from domain.goods import aggregate as goods
from domain.goods.commands import GoodsCommand
from domain.goods.state import GoodsDelivery
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
    return told(locked, job, record, lambda state: jobs.decide(state, command))


def told(
    locked: Locked,
    job: Ref,
    record: Ref | None,
    decide: Callable[[Job], tuple[JobEvent, ...]],
) -> tuple[Change, ...]:
    """Return the change of a locked job by what `decide` tells, and its record's.

    None when it is so already.

    Raises:
        IllegalTransitionError: it makes no sense at the job's stage.
    """
    state = state_of(locked, job, Job)
    events = () if state is None else decide(state)
    if state is None or not events:
        return ()
    ended = changed(job, locked[job], events, jobs.fold(events, state))
    head = None if record is None else locked.get(record)
    if record is None or head is None:
        return (ended,)
    return (*record_change(record, head, events), ended)


def record_commanded(
    locked: Locked, record: Ref, command: FulfillmentCommand
) -> tuple[Change, ...]:
    """Return the change of a locked operation alone; none when it is so already.

    Raises:
        IllegalTransitionError: the command makes no sense at the record's stage.
    """
    operation = state_of(locked, record, FulfillmentOperation)
    events = () if operation is None else operations.decide(operation, command)
    if operation is None or not events:
        return ()
    for event in events:
        operation = operations.evolve(operation, event)
    return (changed(record, locked[record], events, operation),)


def delivery_commanded(
    locked: Locked, record: Ref, command: GoodsCommand
) -> tuple[Change, ...]:
    """Return the change of a locked delivery alone; none when it is so already.

    Raises:
        IllegalTransitionError: the command makes no sense at the delivery's stage.
    """
    delivery = state_of(locked, record, GoodsDelivery)
    events = () if delivery is None else goods.decide(delivery, command)
    if delivery is None or not events:
        return ()
    state = goods.fold(events, delivery)
    return (changed(record, locked[record], events, state),)
