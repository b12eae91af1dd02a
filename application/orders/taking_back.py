"""What a refund takes back of an order's goods: what no provider was asked for.

A line that is pending, or failed before anything was bought, is cancelled: the shop has
given the money back itself.  One that is submitted, in review or over stays as it is,
and the refund says so.  Both hold only while the delivery is as it was read, so a
purchase that is submitted meanwhile is seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from application.ports import SettledOrder, Streams
from application.unit import Head, changed, guard
from domain.errors import IllegalTransitionError
from domain.event import JsonObject
from domain.goods import aggregate as deliveries
from domain.goods.commands import Cancel
from domain.goods.state import FINAL, GoodsDelivery
from domain.order.events import GoodsLine, Paid
from domain.stream import Change, Ref

ORDER_REFUNDED: Final = "order_refunded"
"""Code of a delivery that was cancelled because the shop gave the money back."""


@dataclass(frozen=True, slots=True)
class GoodsBack:
    """What becomes of the lines of goods that a refund is about."""

    changes: tuple[Change, ...] = ()
    kept: tuple[GoodsDelivery, ...] = ()
    """Deliveries that a refund takes back no more."""

    @property
    def kept_lines(self) -> frozenset[int]:
        """The numbers of the lines that are kept."""
        return frozenset(delivery.line for delivery in self.kept)

    def told(self) -> JsonObject:
        """Return what the job's result says of the lines that are kept."""
        if not self.kept:
            return {}
        return {"refused": [{"line": it.line, "state": it.stage} for it in self.kept]}


def taken_back(
    streams: Streams, order: SettledOrder, lines: Sequence[int]
) -> GoodsBack:
    """Return what the refund of `lines` changes of the order's deliveries."""
    paid = order.birth
    if not isinstance(paid, Paid):
        return GoodsBack()
    if not any(isinstance(it, GoodsLine) and it.line in lines for it in paid.lines):
        return GoodsBack()
    changes: list[Change] = []
    kept: list[GoodsDelivery] = []
    for ref, head in streams.deliveries_of(order.ref.id):
        delivery = head.state
        if not isinstance(delivery, GoodsDelivery) or delivery.line not in lines:
            continue
        cancelled = _cancelled(ref, head, delivery)
        if cancelled is None:
            kept.append(delivery)
            cancelled = guard(ref, head.tenant_id, delivery.version)
        changes.append(cancelled)
    return GoodsBack(tuple(changes), tuple(kept))


def _cancelled(ref: Ref, head: Head, delivery: GoodsDelivery) -> Change | None:
    if delivery.stage in FINAL:
        return None
    try:
        events = deliveries.decide(delivery, Cancel(code=ORDER_REFUNDED, refunds=False))
    except IllegalTransitionError:
        return None
    return changed(ref, head, events, deliveries.fold(events, delivery))
