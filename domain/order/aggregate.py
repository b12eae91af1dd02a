"""Decide and evolve: one order, born by its settlement.

            Settle            Fulfill
 (unborn) ──────────► paid ────────────► fulfilled
     └─── Settle (topup) ───────────────────▲

The birth of an order is written by SQL inside the shop's own transaction; a
property test holds the SQL to what `decide` returns.
"""

from enum import StrEnum
from typing import assert_never
from uuid import UUID

import msgspec

from domain.errors import IllegalTransitionError
from domain.order.events import Fulfilled, OrderEvent, Paid, WalletCredited
from domain.order.request import SettleRequest
from domain.stream import State


class Stage(StrEnum):
    """Where an order is in its life; the stored words."""

    UNBORN = "unborn"
    PAID = "paid"
    FULFILLED = "fulfilled"


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
    fulfilled_by: UUID | None = None


class Settle(msgspec.Struct, frozen=True):
    """Record what was paid, from a request whose defaults are filled in."""

    request: SettleRequest


class Fulfill(msgspec.Struct, frozen=True):
    """Record that `operation` has delivered everything of the order."""

    operation: UUID


type OrderCommand = Settle | Fulfill


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
            if order.stage is Stage.FULFILLED:
                return ()
            if order.stage is not Stage.PAID:
                raise IllegalTransitionError(order.stage, "fulfill", stream="order")
            return (Fulfilled(operation=command.operation),)
        case _:
            assert_never(command)


def _settled(request: SettleRequest) -> Paid | WalletCredited:
    if request.kind == "topup":
        return WalletCredited(
            order_id=request.order_id,
            customer_id=request.customer_id,
            slot=request.slot,
            currency=request.currency,
            amount_minor=request.amount_minor,
            discount_minor=request.discount_minor,
        )
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


def evolve(order: Order, event: OrderEvent) -> Order:
    """Return the state after `event`.  Total: history is never rejected."""
    replace = msgspec.structs.replace
    order = replace(order, version=order.version + 1)
    match event:
        case Paid() | WalletCredited():
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
            )
        case Fulfilled():
            return replace(order, stage=Stage.FULFILLED, fulfilled_by=event.operation)
        case _:
            assert_never(event)
