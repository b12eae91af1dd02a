"""Deliveries of goods: where each one stands, and what a provider said of it last.

The rules' own `evolve` folds the columns that both have, so a row cannot disagree with
its head; whoever changes it raises the number here.  Never the recipient, who is
somebody's name: lists do not need it.
"""

from collections.abc import Collection
from typing import ClassVar, Final, override
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from domain.event import Event, Instant
from domain.goods.events import (
    Cancelled,
    DecisionProposed,
    Deferred,
    Delivered,
    Failed,
    GoodsEvent,
    Owed,
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseSubmitted,
    PurchaseUnknown,
    PurchaseWithdrawn,
    Reconciled,
    Refunded,
    Retried,
    ReviewDecided,
    ReviewOpened,
    SenderEnded,
)
from domain.goods.evolving import evolve
from domain.goods.state import GoodsDelivery, Stage, Standing
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection

COMPLETED: Final = frozenset(
    {Stage.DELIVERED, Stage.FAILED, Stage.REFUNDED, Stage.CANCELLED}
)
"""Stages in which nothing happens by itself any more."""

_LATER: Final = (
    Cancelled,
    DecisionProposed,
    Deferred,
    Delivered,
    Failed,
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseSubmitted,
    PurchaseUnknown,
    PurchaseWithdrawn,
    Reconciled,
    Refunded,
    Retried,
    ReviewDecided,
    ReviewOpened,
    SenderEnded,
)


class DeliveryRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One delivery."""

    stream_id: UUID
    tenant_id: str
    state: str
    """`pending`, `submitted`, `needs_review`, `delivered`, `failed`, `refunded` or
    `cancelled`."""
    order_stream_id: UUID
    order_id: str
    """The shop's own."""
    customer_id: str
    line: int
    provider: str
    product: str
    """Its kind."""
    quantity: int
    currency: str
    cost_minor: int
    """What one piece is expected to cost."""
    price_minor: int
    paid_minor: int
    """What the customer paid for all pieces, and would get back."""
    refunded_minor: int | None = None
    purchases: int = 0
    """How often the provider was asked to buy, of at most six times."""
    decision: int = 0
    """The number of the latest decision to buy."""
    standing: str = Standing.NONE.value
    """Of that decision: `none`, `asked`, `accepted` or `unknown`."""
    withdraws_to: str = Standing.NONE.value
    reference: str | None = None
    """What the provider calls the purchase."""
    failure_class: str | None = None
    code: str | None = None
    """What was last said against it."""
    deferred_code: str | None = None
    """Why nothing is bought for now."""
    next_at: Instant | None = None
    restored_at: Instant | None = None
    """When a restore was noticed that may have lost later purchases of it."""
    is_doubtful: bool = False
    """Whether a person bought again after a purchase whose end nobody knows."""
    proposed_by: str | None = None
    """Who has proposed to buy again; a second person has to agree."""
    reviewed_at: Instant | None = None
    """When its latest review was opened."""
    decided_by: str | None = None
    """Who decided the latest review; None: nobody has."""
    correlation_id: str
    created_at: Instant
    updated_at: Instant
    completed_at: Instant | None = None
    """When it ended, for good or until a person's retry."""


class Deliveries(Projection[DeliveryRow]):
    """One row for each line of goods that was ever owed."""

    name: ClassVar[str] = "deliveries"
    row = DeliveryRow
    key: ClassVar[tuple[str, ...]] = ("stream_id",)
    events: ClassVar[Collection[type[Event]]] = (Owed, *_LATER)

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        return ((recorded.stream_id,),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        return isinstance(recorded.event, Owed)

    @override
    def fold(
        self, key: Key, row: DeliveryRow | None, recorded: RecordedEvent
    ) -> DeliveryRow | None:
        event = recorded.event
        if isinstance(event, Owed):
            return _owed(event, recorded)
        if row is None or not isinstance(event, _LATER):
            return row
        return _reviewed(_evolved(row, event, recorded), event, recorded)


def _owed(event: Owed, recorded: RecordedEvent) -> DeliveryRow:
    return DeliveryRow(
        stream_id=recorded.stream_id,
        tenant_id=recorded.tenant_id,
        state=Stage.PENDING.value,
        order_stream_id=event.order,
        order_id=event.order_id,
        customer_id=event.customer_id,
        line=event.line,
        provider=event.provider,
        product=event.product.kind,
        quantity=event.quantity,
        currency=event.currency,
        cost_minor=event.cost_minor,
        price_minor=event.price_minor,
        paid_minor=event.paid_minor,
        correlation_id=recorded.meta.correlation_id,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
    )


def _evolved(
    row: DeliveryRow, event: GoodsEvent, recorded: RecordedEvent
) -> DeliveryRow:
    before = GoodsDelivery(
        stage=Stage(row.state),
        standing=Standing(row.standing),
        withdraws_to=Standing(row.withdraws_to),
        purchases=row.purchases,
        decision=row.decision,
        reference=row.reference,
        failure_class=row.failure_class,
        code=row.code,
        deferred_code=row.deferred_code,
        next_at=row.next_at,
        restored_at=row.restored_at,
        is_doubtful=row.is_doubtful,
        refunded_minor=row.refunded_minor,
    )
    after = evolve(before, event)
    is_moved = after.stage is not before.stage
    ended_at = recorded.recorded_at if after.stage in COMPLETED else None
    return replace(
        row,
        state=after.stage.value,
        standing=after.standing.value,
        withdraws_to=after.withdraws_to.value,
        purchases=after.purchases,
        decision=after.decision,
        reference=after.reference,
        failure_class=after.failure_class,
        code=after.code,
        deferred_code=after.deferred_code,
        next_at=after.next_at,
        restored_at=after.restored_at,
        is_doubtful=after.is_doubtful,
        refunded_minor=after.refunded_minor,
        updated_at=recorded.recorded_at,
        completed_at=ended_at if is_moved else row.completed_at,
    )


def _reviewed(
    row: DeliveryRow, event: GoodsEvent, recorded: RecordedEvent
) -> DeliveryRow:
    """Return the row with who has to say something about it, or has said it."""
    match event:
        case ReviewOpened():
            at = recorded.recorded_at
            return replace(row, reviewed_at=at, decided_by=None, proposed_by=None)
        case DecisionProposed(by=by):
            return replace(row, proposed_by=by.id)
        case ReviewDecided():
            by = recorded.meta.actor
            return replace(row, decided_by=by.id, proposed_by=None)
        case _:
            return row
