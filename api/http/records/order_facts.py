"""What is told of an order wherever one is told: to shops, and to operators."""

from typing import Any

import msgspec

from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, moment
from domain.event import Instant
from projections.queries.heads.order import OrderRecord
from projections.queries.records.orders import OrderLine


class OrderFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The members that every view of an order has."""

    id: str
    order_id: str
    """The shop's own."""
    customer_id: str
    slot: int
    kind: str
    state: str
    """`paid`, `fulfilled` or `refunded`."""
    currency: str
    amount_minor: int
    discount_minor: int
    refunded_minor: int | None
    """Null: nothing went back."""
    settled_at: Moment
    correlation_id: str


def order_facts(order: OrderRecord | OrderLine, settled_at: Instant) -> dict[str, Any]:
    """Return the members of `OrderFacts`."""
    return {
        "id": told(Prefix.ORDER, order.stream_id),
        "order_id": order.order_id,
        "customer_id": order.customer_id,
        "slot": order.slot,
        "kind": order.kind,
        "state": order.state,
        "currency": order.currency,
        "amount_minor": order.amount_minor,
        "discount_minor": order.discount_minor,
        "refunded_minor": order.refunded_minor,
        "settled_at": moment(settled_at),
        "correlation_id": order.correlation_id,
    }
