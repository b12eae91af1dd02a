"""What an attempt changes beside its job: operation, entitlement and orders."""

from collections.abc import Callable
from uuid import UUID

from application import births
from application.fulfillment.pushed import Pushed
from application.policies import complete
from application.unit import Head, Ids, changed
from domain.entitlement import aggregate as entitlements
from domain.entitlement.commands import Detect, EntitlementCommand, Observe, Resolve
from domain.entitlement.state import Drift, Entitlement, Sight
from domain.event import Event, Instant
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import FulfillmentCommand
from domain.order import aggregate as orders
from domain.order.aggregate import Order, Stage
from domain.stream import Change, Ref


def operation_change(
    ref: Ref, head: Head, operation: FulfillmentOperation, *commands: FulfillmentCommand
) -> Change:
    """Return the change of `operation`, the state of `head`, by commands in turn.

    Raises:
        IllegalTransitionError: a command makes no sense at its stage.
    """
    happened = list[Event]()
    for command in commands:
        events = operations.decide(operation, command)
        happened.extend(events)
        for event in events:
            operation = operations.evolve(operation, event)
    return changed(ref, head, happened, operation)


def observation(ref: Ref, head: Head, sight: Sight, pushed: Pushed) -> Change | None:
    """Return what the panel shows after a success, or None when nothing is new.

    The drifts that it does not show any more are resolved, whatever the operation.
    """
    return _entitlement_change(
        ref, head, Observe(sight.observed), Resolve(pushed.agreed(sight))
    )


def detection(ref: Ref, head: Head, drifts: tuple[Drift, ...]) -> Change | None:
    """Return what differs, or None when all of it is on record."""
    return _entitlement_change(ref, head, Detect(drifts))


def _entitlement_change(
    ref: Ref, head: Head, *commands: EntitlementCommand
) -> Change | None:
    state = head.state
    if not isinstance(state, Entitlement):
        return None
    happened = list[Event]()
    for command in commands:
        events = entitlements.decide(state, command)
        happened.extend(events)
        for event in events:
            state = entitlements.evolve(state, event)
    return changed(ref, head, happened, state) if happened else None


def order_delivered(
    ref: Ref, head: Head, operation: UUID, ids: Ids, clock: Callable[[], Instant]
) -> Change | None:
    """Return what follows for an order whose access `operation` has carried.

    Its fulfilment, or None when it is over already.  Of an order with goods a job looks
    whether all of it is over: the access alone does not fulfil it.
    """
    state = head.state
    if not isinstance(state, Order):
        return None
    if state.has_goods:
        if state.stage is not Stage.PAID:
            return None
        return births.enqueued(
            ids, head.tenant_id, complete(ref.id, operation, clock())
        )
    events = orders.decide(state, orders.Fulfill(operation))
    for event in events:
        state = orders.evolve(state, event)
    return changed(ref, head, list(events), state) if events else None
