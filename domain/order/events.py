"""Facts about one settled order (a storage contract, see domain.event)."""

from typing import ClassVar
from uuid import UUID

import msgspec

from domain.event import Event, Instant


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One access line as it was settled, its defaults filled in."""

    line: int
    type: str
    days: int | None
    ends_at: Instant | None
    grace_seconds: int
    traffic_bytes: int | None
    device_limit: int | None
    squad_ids: tuple[str, ...]
    reset_traffic: bool


class Paid(Event, frozen=True, kw_only=True):
    """The shop took money; what was bought is owed from now on."""

    tag: ClassVar[str] = "order.paid"
    order_id: str
    customer_id: str
    slot: int
    kind: str
    currency: str
    amount_minor: int
    discount_minor: int
    effective_at: Instant | None
    lines: tuple[Line, ...]


class WalletCredited(Event, frozen=True, kw_only=True):
    """The shop topped a wallet up; nothing is owed."""

    tag: ClassVar[str] = "wallet.credited"
    order_id: str
    customer_id: str
    slot: int
    currency: str
    amount_minor: int
    discount_minor: int


class Fulfilled(Event, frozen=True, kw_only=True):
    """Everything of the order is done; `operation` carried it to the panel."""

    tag: ClassVar[str] = "order.fulfilled"
    operation: UUID


type OrderEvent = Paid | WalletCredited | Fulfilled
