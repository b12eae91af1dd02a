"""What a shop says of an order, with every default filled in."""

import msgspec

from domain.event import Instant
from domain.order.events import AddonLine, GoodsLine, Line


class SettleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One accepted settlement."""

    tenant: str
    order_id: str
    customer_id: str
    kind: str
    currency: str
    amount_minor: int
    discount_minor: int
    slot: int
    effective_at: Instant | None
    correlation_id: str
    lines: tuple[Line | GoodsLine, ...]
    """What the order grants and sells; none of a topup and of an add-on."""
    addons: tuple[AddonLine, ...] = ()
    """What an add-on changes."""


class RefundRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One accepted refund."""

    tenant: str
    order_id: str
    lines: tuple[int, ...] | None
    """Numbers of lines; None: all of them."""
    amount_minor: int | None
    """None: all that was paid."""
    reason: str
    correlation_id: str
