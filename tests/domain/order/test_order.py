"""An order's life: as stories, and whatever order its commands come in."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import IllegalTransitionError
from domain.order.aggregate import (
    Fulfill,
    Order,
    OrderCommand,
    Settle,
    Stage,
    decide,
    evolve,
)
from domain.order.events import Fulfilled, Line, OrderEvent, Paid, WalletCredited
from domain.order.request import SettleRequest

OPERATION = UUID(int=7)
OTHER = UUID(int=8)


def request(kind: str) -> SettleRequest:
    line = Line(
        line=1,
        type="access",
        days=30,
        ends_at=None,
        grace_seconds=0,
        traffic_bytes=None,
        device_limit=3,
        squad_ids=(),
        reset_traffic=False,
    )
    return SettleRequest(
        tenant="default",
        order_id="o",
        customer_id="c",
        kind=kind,
        currency="USD",
        amount_minor=500,
        discount_minor=50,
        slot=2,
        effective_at=None,
        correlation_id="order:o",
        lines=() if kind == "topup" else (line,),
    )


PURCHASE = Settle(request("purchase"))
TOPUP = Settle(request("topup"))
FULFILL = Fulfill(OPERATION)


def after(*commands: OrderCommand) -> Order:
    order = Order()
    for command in commands:
        for event in decide(order, command):
            order = evolve(order, event)
    return order


def test_a_purchase_is_paid_with_its_lines() -> None:
    (paid,) = decide(Order(), PURCHASE)

    assert isinstance(paid, Paid)
    assert (paid.kind, paid.slot, paid.lines) == (
        "purchase",
        2,
        PURCHASE.request.lines,
    )
    order = after(PURCHASE)
    assert (order.stage, order.version, order.fulfilled_by) == (Stage.PAID, 1, None)


def test_a_topup_is_born_fulfilled() -> None:
    (credited,) = decide(Order(), TOPUP)

    assert isinstance(credited, WalletCredited)
    order = after(TOPUP)
    assert (order.stage, order.kind, order.version) == (Stage.FULFILLED, "topup", 1)


def test_a_paid_order_is_fulfilled_once_by_the_operation_that_came_first() -> None:
    order = after(PURCHASE, FULFILL)

    assert order.fulfilled_by == OPERATION
    assert decide(order, Fulfill(OTHER)) == ()


@pytest.mark.parametrize("first", [PURCHASE, TOPUP])
@pytest.mark.parametrize("second", [PURCHASE, TOPUP])
def test_an_order_is_settled_once(first: Settle, second: Settle) -> None:
    with pytest.raises(IllegalTransitionError, match="settle"):
        decide(after(first), second)


def test_nothing_is_fulfilled_before_it_is_paid() -> None:
    with pytest.raises(IllegalTransitionError, match="fulfill"):
        decide(Order(), FULFILL)


@given(st.lists(st.sampled_from([PURCHASE, TOPUP, FULFILL, Fulfill(OTHER)])))
def test_i6_whatever_is_asked_fulfilled_is_never_left(
    commands: list[OrderCommand],
) -> None:
    order, events = Order(), list[OrderEvent]()
    for command in commands:
        was_fulfilled = order.stage is Stage.FULFILLED
        try:
            told = decide(order, command)
        except IllegalTransitionError:
            continue
        for event in told:
            order = evolve(order, event)
            events.append(event)
        assert not was_fulfilled or told == ()

    assert order.version == len(events) <= 2
    assert sum(isinstance(event, Fulfilled) for event in events) <= 1
