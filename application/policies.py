"""Whenever this happened, that has to be done: events to jobs, purely.

 order.paid             ► order_fanout   one per order, in turn per customer and slot
 fulfillment.requested  ► fulfillment    one per operation, in turn per entitlement

The job of a paid order is born by SQL inside the shop's transaction; a property
test holds the SQL to `fan_out`.  An operator's retry of an operation asks for no
new job: it revives the dead one.
"""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from domain.event import Event, Instant
from domain.fulfillment.events import Requested
from domain.jobs.aggregate import Enqueue
from domain.order.events import Paid

ORDER_FANOUT: Final = "order_fanout"
"""Kind of the job that decides what a paid order owes."""

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
            case Paid():
                jobs.append(fan_out(stream_id, event, now))
            case Requested():
                jobs.append(fulfillment(stream_id, event, now))
            case _:
                pass
    return tuple(jobs)


def fan_out(order: UUID, paid: Paid, now: Instant) -> Enqueue:
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
