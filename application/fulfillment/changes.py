"""What an attempt changes beside its job: operation, entitlement and orders."""

from uuid import UUID

from application.unit import Head, changed
from domain.entitlement import aggregate as entitlements
from domain.entitlement.aggregate import Entitlement
from domain.entitlement.state import Observed
from domain.event import Event
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import FulfillmentCommand
from domain.order import aggregate as orders
from domain.order.aggregate import Order
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


def observation(ref: Ref, head: Head, observed: Observed) -> Change | None:
    """Return what the panel showed, or None when it showed the same last time."""
    state = head.state
    if not isinstance(state, Entitlement):
        return None
    events = entitlements.decide(state, entitlements.Observe(observed))
    for event in events:
        state = entitlements.evolve(state, event)
    return changed(ref, head, list(events), state) if events else None


def order_fulfilled(ref: Ref, head: Head, operation: UUID) -> Change | None:
    """Return the order's fulfilment by `operation`, or None when it is fulfilled."""
    state = head.state
    if not isinstance(state, Order):
        return None
    events = orders.decide(state, orders.Fulfill(operation))
    for event in events:
        state = orders.evolve(state, event)
    return changed(ref, head, list(events), state) if events else None
