"""The deliveries that an order's lines of goods give birth to."""

from application import births
from application.ports import SettledOrder, Streams
from application.unit import Ids
from domain.goods.commands import Owe
from domain.order.events import AddonPurchased, GoodsLine, Paid
from domain.order.share import paid_minor
from domain.stream import Change


def goods_owed(
    streams: Streams, ids: Ids, order: SettledOrder, paid: Paid | AddonPurchased
) -> tuple[tuple[Change, ...], ...] | None:
    """Return the births of each line of goods; None when they were decided before.

    What a customer is given back if a line is not delivered is decided here, once.
    """
    if not isinstance(paid, Paid):
        return ()
    lines = [line for line in paid.lines if isinstance(line, GoodsLine)]
    if not lines:
        return ()
    if streams.deliveries_of(order.ref.id):
        return None
    due = max(paid.effective_at or order.read_at, order.read_at)
    return tuple(
        births.owed(ids, order.tenant_id, _owe(order, paid, line), due)
        for line in lines
        if line.line not in order.refunded_lines
    )


def _owe(order: SettledOrder, paid: Paid, line: GoodsLine) -> Owe:
    return Owe(
        order=order.ref.id,
        order_id=paid.order_id,
        customer_id=paid.customer_id,
        line=line.line,
        provider=line.provider,
        product=line.product,
        quantity=line.quantity,
        recipient=line.recipient,
        currency=paid.currency,
        cost_minor=line.cost_minor,
        price_minor=line.price_minor,
        paid_minor=paid_minor(paid, line),
    )
