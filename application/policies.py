"""Whenever this happened, that has to be done: events to jobs, purely.

 order.paid, addon.purchased  ► order_fanout  one per order, in turn per customer's slot
 fulfillment.requested        ► fulfillment   one per operation, in turn per entitlement
 (a refund is asked for)      ► order_refund  one per order, by its key

The jobs of a paid order and of a refund are born by SQL inside the shop's own
transaction; a property test holds the SQL to `fan_out` and `refund`.  An operator's
retry of an operation asks for no new job: it revives the dead one.
"""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from domain.event import Event, Instant
from domain.fulfillment.events import Requested
from domain.jobs.aggregate import Enqueue
from domain.order.events import AddonPurchased, Paid
from domain.order.request import RefundRequest

ORDER_FANOUT: Final = "order_fanout"
"""Kind of the job that decides what a paid order owes."""

ORDER_REFUND: Final = "order_refund"
"""Kind of the job that decides what a refund takes back."""

FULFILLMENT: Final = "fulfillment"
"""Kind of the job that carries one operation to the panel."""

CRITICAL: Final = "critical"
"""Queue of everything that a customer has paid for and waits for."""


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
            case _:
                pass
    return tuple(jobs)


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


def key_of(operation: UUID) -> str:
    """Return the unique key of the job that serves an operation."""
    return f"{FULFILLMENT}:{operation}"
