"""Facts about one settled order (a storage contract, see domain.event)."""

from typing import ClassVar
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from domain.event import Event, Instant
from domain.goods.events import Product


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="access"):
    """One access line as it was settled, its defaults filled in."""

    line: int
    days: int | None
    ends_at: Instant | None
    grace_seconds: int
    traffic_bytes: int | None
    device_limit: int | None
    squad_ids: tuple[str, ...]
    reset_traffic: bool


class GoodsLine(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="goods"
):
    """One line of goods as it was settled, its defaults filled in."""

    line: int
    provider: str
    product: Product
    recipient: str
    quantity: int
    """How many pieces of the product."""
    cost_minor: int
    """What one piece is expected to cost the operator."""
    price_minor: int
    """What one piece was sold for, before the order's discount."""


class AddonLine(msgspec.Struct, frozen=True, kw_only=True):
    """What an add-on changes of the access that a customer has.

    What was not given is not stored either: it stays as the customer has it.  So a
    null of `traffic_bytes` or `device_limit` was given, and means unlimited.
    """

    line: int
    type: str
    days: int | UnsetType = UNSET
    """Added to the end of what the customer has; never together with `ends_at`."""
    ends_at: Instant | UnsetType = UNSET
    grace_seconds: int | UnsetType = UNSET
    traffic_bytes: int | UnsetType | None = UNSET
    device_limit: int | UnsetType | None = UNSET
    squad_ids: tuple[str, ...] | UnsetType = UNSET


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
    lines: tuple[Line | GoodsLine, ...]
    """At most one of access, and as many of goods as there are."""


class AddonPurchased(Event, frozen=True, kw_only=True):
    """The shop took money for a change of the access that the customer has."""

    tag: ClassVar[str] = "addon.purchased"
    order_id: str
    customer_id: str
    slot: int
    kind: str
    currency: str
    amount_minor: int
    discount_minor: int
    effective_at: Instant | None
    lines: tuple[AddonLine, ...]


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
    """Everything of the order is done, and something of it was delivered."""

    tag: ClassVar[str] = "order.fulfilled"
    operation: UUID | None = None
    """What carried the access to the panel; None: the order is of goods alone."""


class Refunded(Event, frozen=True, kw_only=True):
    """The shop gave money back; nothing more is delivered for the order."""

    tag: ClassVar[str] = "order.refunded"
    lines: tuple[int, ...]
    """Numbers of the lines whose money went back; of a topup there are none."""
    amount_minor: int
    """What went back, in the order's currency; all that was paid if not told."""
    reason: str
    """Why, as the shop said."""


type OrderEvent = Paid | AddonPurchased | WalletCredited | Fulfilled | Refunded
