"""What a shop says when it settles an order, with every default filled in."""

import msgspec

from domain.event import Instant
from domain.order.events import Line


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
    lines: tuple[Line, ...]
