"""Whenever this happened, that has to be done: events to jobs, purely.

 order.paid, addon.purchased  ► order_fanout  one per order, in turn per customer's slot
 fulfillment.requested        ► fulfillment   one per operation, in turn per entitlement
 (a refund is asked for)      ► order_refund  one per order, by its key
 goods.owed, buy again        ► goods_delivery    one per delivery, in turn per order
 (where it can be looked up)  ► goods_reconcile   likewise
 a delivery is over, or an    ► order_completion  one per delivery or operation
 operation beside deliveries
 bulk.requested, .started     ► bulk_operation   one per bulk operation at a time

The jobs of a paid order and of a refund are born by SQL inside the shop's own
transaction; a property test holds the SQL to `fan_out` and `refund`.  An operator's
retry of an operation asks for no new job: it revives the dead one.
"""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from domain.event import Event, Instant
from domain.fulfillment.events import Requested
from domain.goods.events import Owed, Reconciled, ReviewDecided
from domain.goods.state import FINAL, GoodsDelivery, Stage
from domain.jobs.aggregate import Enqueue
from domain.order.events import AddonPurchased, Paid
from domain.order.request import RefundRequest

ORDER_FANOUT: Final = "order_fanout"
"""Kind of the job that decides what a paid order owes."""

ORDER_REFUND: Final = "order_refund"
"""Kind of the job that decides what a refund takes back."""

FULFILLMENT: Final = "fulfillment"
"""Kind of the job that carries one operation to the panel."""

GOODS_DELIVERY: Final = "goods_delivery"
"""Kind of the job that buys one line of goods."""

GOODS_RECONCILE: Final = "goods_reconcile"
"""Kind of the job that asks a provider what became of a purchase."""

ORDER_COMPLETION: Final = "order_completion"
"""Kind of the job that sees whether everything of an order with goods is over."""

BULK_OPERATION: Final = "bulk_operation"
"""Kind of the job that previews a bulk operation, or carries it out."""

CRITICAL: Final = "critical"
"""Queue of everything that a customer has paid for and waits for."""


BULK: Final = "bulk"
"""Queue of what nobody waits for at a counter."""


def jobs_after(
    stream_id: UUID, events: Iterable[Event], now: Instant
) -> tuple[Enqueue, ...]:
    """Return the jobs that follow from new events of one stream, in their order."""
    jobs: list[Enqueue] = []
    for event in events:
        match event:
            case Paid() | AddonPurchased():
                jobs.append(fan_out(stream_id, event, now))
            case Requested():
                jobs.append(fulfillment(stream_id, event, now))
            case Owed():
                jobs.append(deliver(stream_id, event.order, now))
            case _:
                pass
    return tuple(jobs)


def jobs_after_delivery(
    delivery: UUID, state: GoodsDelivery, events: Iterable[Event], now: Instant
) -> tuple[Enqueue, ...]:
    """Return the jobs that follow from new events of a delivery that was owed before.

    `state` is the one after `events`.  That an unknown purchase can be looked up says
    its provider; whoever knows that enqueues `reconcile`.
    """
    order = state.order
    happened = tuple(events)
    if order is None or not happened:
        return ()
    if state.stage in FINAL:
        return (complete(order, delivery, now),)
    # Pending anew, but not by the job that buys: that one goes on by itself.
    is_told = any(isinstance(event, Reconciled | ReviewDecided) for event in happened)
    if is_told and state.stage is Stage.PENDING:
        return (deliver(delivery, order, max(state.next_at or now, now)),)
    return ()


def fan_out(order: UUID, paid: Paid | AddonPurchased, now: Instant) -> Enqueue:
    """Return the job that decides what the order owes.

    Settlements of one customer and slot are decided one at a time, so two of them
    never grant the same entitlement twice.
    """
    return Enqueue(
        kind=ORDER_FANOUT,
        args={"order_stream_id": str(order)},
        queue=CRITICAL,
        priority=1,
        run_at=now,
        unique_key=f"{ORDER_FANOUT}:{order}",
        serial_key=f"fanout:{paid.customer_id}:{paid.slot}",
    )


def refund(request: RefundRequest, now: Instant) -> Enqueue:
    """Return the job that decides what the refund takes back.

    Its external key makes it the only one of its order, so it needs no other.
    """
    return Enqueue(
        kind=ORDER_REFUND,
        args={
            "order_id": request.order_id,
            "lines": None if request.lines is None else list(request.lines),
            "amount_minor": request.amount_minor,
            "reason": request.reason,
        },
        queue=CRITICAL,
        priority=1,
        run_at=now,
    )


def fulfillment(operation: UUID, requested: Requested, now: Instant) -> Enqueue:
    """Return the job that carries the operation to the panel.

    Operations of one entitlement run one at a time, in the order of their desired
    versions among those that are due.
    """
    return Enqueue(
        kind=FULFILLMENT,
        args={"operation_id": str(operation)},
        queue=CRITICAL,
        priority=1,
        run_at=max(requested.effective_at, now),
        unique_key=key_of(operation),
        serial_key=f"entitlement:{requested.entitlement}",
        serial_order=requested.desired_version,
    )


def deliver(delivery: UUID, order: UUID, due: Instant) -> Enqueue:
    """Return the job that buys one line of goods.

    Deliveries of one order are bought one at a time.
    """
    return _of_delivery(GOODS_DELIVERY, delivery, order, due)


def reconcile(delivery: UUID, order: UUID, due: Instant) -> Enqueue:
    """Return the job that asks the provider what became of a purchase.

    It takes turns with those that buy: nothing is bought while it is asked.
    """
    return _of_delivery(GOODS_RECONCILE, delivery, order, due)


def _of_delivery(kind: str, delivery: UUID, order: UUID, due: Instant) -> Enqueue:
    return Enqueue(
        kind=kind,
        args={"delivery_id": str(delivery)},
        queue=CRITICAL,
        priority=1,
        run_at=due,
        unique_key=goods_key_of(kind, delivery),
        serial_key=goods_turn_of(order),
    )


def goods_key_of(kind: str, delivery: UUID) -> str:
    """Return the unique key of the job of `kind` that serves a delivery.

    A line has one delivery, so this is one job for each line of an order; and a job
    whose arguments cannot be read still finds its record.
    """
    return f"{kind}:{delivery}"


def goods_turn_of(order: UUID) -> str:
    """Return the serial key of the jobs that serve an order's deliveries."""
    return f"goods:{order}"


def complete(order: UUID, cause: UUID, now: Instant) -> Enqueue:
    """Return the job that sees whether everything of the order is over.

    There is one for each delivery or operation that ends, and each ends once.  It has
    no key for that: a key that anybody else had taken would cost what a provider said.
    It runs after that end is committed, so whichever comes last sees all of them.
    """
    return Enqueue(
        kind=ORDER_COMPLETION,
        args={"order_stream_id": str(order), "cause": str(cause)},
        queue=CRITICAL,
        priority=1,
        run_at=now,
    )


def bulk(operation: UUID, now: Instant) -> Enqueue:
    """Return the job that previews a bulk operation, or carries it out."""
    return Enqueue(
        kind=BULK_OPERATION,
        args={"bulk_id": str(operation)},
        queue=BULK,
        run_at=now,
        unique_key=bulk_key_of(operation),
    )


def bulk_key_of(operation: UUID) -> str:
    """Return the unique key of the job that serves a bulk operation."""
    return f"{BULK_OPERATION}:{operation}"


def access_key_of(order_id: str) -> str:
    """Return the key of the operation that carries the access of an order."""
    return f"order:{order_id}:fulfill"


def key_of(operation: UUID) -> str:
    """Return the unique key of the job that serves an operation."""
    return f"{FULFILLMENT}:{operation}"
