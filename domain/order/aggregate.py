"""Decide and evolve: one order, born by its settlement.

            Settle           Fulfill               Refund
 (unborn) ─────────► paid ───────────► fulfilled ─────────► refunded ■
     │                │                    ▲                   ▲
     │                └────── Refund ──────┼───────────────────┘
     └────────── Settle (topup) ───────────┘

What is refunded is never fulfilled afterwards: an operation that was on its way may
still succeed, and its order stays as it is.

The birth of an order is written by SQL inside the shop's own transaction; a
property test holds the SQL to what `decide` returns.
"""

from enum import StrEnum
from typing import assert_never
from uuid import UUID

import msgspec

from domain.errors import IllegalTransitionError
from domain.order.events import (
    AddonPurchased,
    Fulfilled,
    GoodsLine,
    OrderEvent,
    Paid,
    Refunded,
    WalletCredited,
)
from domain.order.request import SettleRequest
from domain.stream import State


class Stage(StrEnum):
    """Where an order is in its life; the stored words."""

    UNBORN = "unborn"
    PAID = "paid"
    FULFILLED = "fulfilled"
    REFUNDED = "refunded"


_ENDED = frozenset({Stage.FULFILLED, Stage.REFUNDED})
"""Stages in which nothing is left to deliver."""


class Order(State, frozen=True, kw_only=True):
    """What the rules remember of one order; the head's folded columns."""

    stage: Stage = Stage.UNBORN
    order_id: str = ""
    customer_id: str = ""
    slot: int = 1
    kind: str = ""
    currency: str = ""
    amount_minor: int = 0
    discount_minor: int = 0
    has_goods: bool = False
    """Whether lines of it are goods: then its end is seen by a job of its own."""
    fulfilled_by: UUID | None = None
    """Stays when the order is refunded afterwards."""


class Settle(msgspec.Struct, frozen=True):
    """Record what was paid, from a request whose defaults are filled in."""

    request: SettleRequest


class Fulfill(msgspec.Struct, frozen=True):
    """Record that everything of the order is done, the access by `operation`."""

    operation: UUID | None
    """None: the order is of goods alone."""


class Refund(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the shop gave the money of `lines` back."""

    lines: tuple[int, ...]
    amount_minor: int | None
    """None: all that was paid."""
    reason: str


type OrderCommand = Settle | Fulfill | Refund


def decide(order: Order, command: OrderCommand) -> tuple[OrderEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case Settle():
            if order.stage is not Stage.UNBORN:
                raise IllegalTransitionError(order.stage, "settle", stream="order")
            return (_settled(command.request),)
        case Fulfill():
            if order.stage in _ENDED:
                return ()
            if order.stage is not Stage.PAID:
                raise IllegalTransitionError(order.stage, "fulfill", stream="order")
            return (Fulfilled(operation=command.operation),)
        case Refund():
            return _refund(order, command)
        case _:
            assert_never(command)


def _settled(request: SettleRequest) -> Paid | AddonPurchased | WalletCredited:
    match request.kind:
        case "topup":
            return WalletCredited(
                order_id=request.order_id,
                customer_id=request.customer_id,
                slot=request.slot,
                currency=request.currency,
                amount_minor=request.amount_minor,
                discount_minor=request.discount_minor,
            )
        case "addon":
            return AddonPurchased(
                order_id=request.order_id,
                customer_id=request.customer_id,
                slot=request.slot,
                kind=request.kind,
                currency=request.currency,
                amount_minor=request.amount_minor,
                discount_minor=request.discount_minor,
                effective_at=request.effective_at,
                lines=request.addons,
            )
        case _:
            return Paid(
                order_id=request.order_id,
                customer_id=request.customer_id,
                slot=request.slot,
                kind=request.kind,
                currency=request.currency,
                amount_minor=request.amount_minor,
                discount_minor=request.discount_minor,
                effective_at=request.effective_at,
                lines=request.lines,
            )


def _refund(order: Order, command: Refund) -> tuple[OrderEvent, ...]:
    if order.stage is Stage.UNBORN:
        raise IllegalTransitionError(order.stage, "refund", stream="order")
    if order.stage is Stage.REFUNDED:
        return ()
    told = command.amount_minor
    amount = order.amount_minor if told is None else told
    return (Refunded(lines=command.lines, amount_minor=amount, reason=command.reason),)


def evolve(order: Order, event: OrderEvent) -> Order:
    """Return the state after `event`.  Total: history is never rejected."""
    replace = msgspec.structs.replace
    order = replace(order, version=order.version + 1)
    match event:
        case Paid() | AddonPurchased() | WalletCredited():
            topup = isinstance(event, WalletCredited)
            return replace(
                order,
                stage=Stage.FULFILLED if topup else Stage.PAID,
                order_id=event.order_id,
                customer_id=event.customer_id,
                slot=event.slot,
                kind="topup" if isinstance(event, WalletCredited) else event.kind,
                currency=event.currency,
                amount_minor=event.amount_minor,
                discount_minor=event.discount_minor,
                has_goods=isinstance(event, Paid) and _sells_goods(event),
            )
        case Fulfilled():
            return replace(order, stage=Stage.FULFILLED, fulfilled_by=event.operation)
        case Refunded():
            return replace(order, stage=Stage.REFUNDED)
        case _:
            assert_never(event)


def _sells_goods(paid: Paid) -> bool:
    return any(isinstance(line, GoodsLine) for line in paid.lines)
