"""Orders: what was paid, whether it is delivered, and whether the money went back."""

from collections.abc import Collection
from typing import ClassVar, override
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from domain.event import Event, Instant
from domain.order.events import (
    AddonPurchased,
    Fulfilled,
    Paid,
    Refunded,
    WalletCredited,
)
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection


class OrderRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One order."""

    stream_id: UUID
    tenant_id: str
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
    refunded_minor: int | None = None
    """What went back; None: nothing did."""
    effective_at: Instant | None
    """When it takes effect, if the shop said so."""
    fulfilled_by: UUID | None = None
    """The operation that delivered it; stays when it is refunded afterwards."""
    correlation_id: str
    created_at: Instant
    """When it was settled."""
    updated_at: Instant
    fulfilled_at: Instant | None = None
    """A topup owes nothing: it is fulfilled as soon as it is settled."""
    refunded_at: Instant | None = None


class Orders(Projection[OrderRow]):
    """One row for each order that was ever settled."""

    name: ClassVar[str] = "orders"
    row = OrderRow
    key: ClassVar[tuple[str, ...]] = ("stream_id",)
    events: ClassVar[Collection[type[Event]]] = (
        Paid,
        AddonPurchased,
        WalletCredited,
        Fulfilled,
        Refunded,
    )

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        return ((recorded.stream_id,),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        return isinstance(recorded.event, Paid | AddonPurchased | WalletCredited)

    @override
    def fold(
        self, key: Key, row: OrderRow | None, recorded: RecordedEvent
    ) -> OrderRow | None:
        event, at = recorded.event, recorded.recorded_at
        if isinstance(event, Paid | AddonPurchased | WalletCredited):
            return _settled(event, recorded)
        if row is None:
            return None
        match event:
            case Fulfilled(operation=operation):
                done = replace(row, state="fulfilled", fulfilled_by=operation)
                return replace(done, fulfilled_at=at, updated_at=at)
            case Refunded(amount_minor=amount):
                back = replace(row, state="refunded", refunded_minor=amount)
                return replace(back, refunded_at=at, updated_at=at)
            case _:
                return row


def _settled(
    event: Paid | AddonPurchased | WalletCredited, recorded: RecordedEvent
) -> OrderRow:
    is_topup = isinstance(event, WalletCredited)
    return OrderRow(
        stream_id=recorded.stream_id,
        tenant_id=recorded.tenant_id,
        order_id=event.order_id,
        customer_id=event.customer_id,
        slot=event.slot,
        kind="topup" if isinstance(event, WalletCredited) else event.kind,
        state="fulfilled" if is_topup else "paid",
        currency=event.currency,
        amount_minor=event.amount_minor,
        discount_minor=event.discount_minor,
        effective_at=None if isinstance(event, WalletCredited) else event.effective_at,
        correlation_id=recorded.meta.correlation_id,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
        fulfilled_at=recorded.recorded_at if is_topup else None,
    )
