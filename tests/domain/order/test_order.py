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
    Refund,
    Settle,
    Stage,
    decide,
    evolve,
)
from domain.order.events import (
    AddonLine,
    AddonPurchased,
    Fulfilled,
    Line,
    OrderEvent,
    Paid,
    Refunded,
    WalletCredited,
)
from domain.order.request import SettleRequest

OPERATION = UUID(int=7)
OTHER = UUID(int=8)


def request(kind: str) -> SettleRequest:
    line = Line(
        line=1,
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
        lines=() if kind in {"topup", "addon"} else (line,),
        addons=(AddonLine(line=1, type="access", days=7),) if kind == "addon" else (),
    )


PURCHASE = Settle(request("purchase"))
TOPUP = Settle(request("topup"))
ADDON = Settle(request("addon"))
FULFILL = Fulfill(OPERATION)
REFUND = Refund(lines=(1,), amount_minor=None, reason="charged back")
PARTLY = Refund(lines=(1,), amount_minor=100, reason="half of it was bad")


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


def test_an_add_on_is_owed_like_any_other_order() -> None:
    (purchased,) = decide(Order(), ADDON)

    assert isinstance(purchased, AddonPurchased)
    assert purchased.lines == ADDON.request.addons
    order = after(ADDON)
    assert (order.stage, order.kind, order.version) == (Stage.PAID, "addon", 1)
    assert after(ADDON, FULFILL).stage is Stage.FULFILLED


@pytest.mark.parametrize(
    "life", [(PURCHASE,), (PURCHASE, FULFILL), (ADDON,), (ADDON, FULFILL), (TOPUP,)]
)
def test_the_money_of_any_order_goes_back_once(life: tuple[OrderCommand, ...]) -> None:
    (refunded,) = decide(after(*life), REFUND)

    assert refunded == Refunded(lines=(1,), amount_minor=500, reason="charged back")
    order = after(*life, REFUND)
    assert order.stage is Stage.REFUNDED
    assert order.fulfilled_by == after(*life).fulfilled_by
    assert decide(order, PARTLY) == ()


def test_a_part_of_the_money_is_told_as_it_is() -> None:
    (refunded,) = decide(after(PURCHASE), PARTLY)

    assert refunded == Refunded(
        lines=(1,), amount_minor=100, reason="half of it was bad"
    )


def test_what_was_refunded_is_not_fulfilled_afterwards() -> None:
    order = after(PURCHASE, REFUND)

    assert decide(order, FULFILL) == ()
    assert order.fulfilled_by is None


def test_nothing_is_refunded_before_it_is_paid() -> None:
    with pytest.raises(IllegalTransitionError, match="refund"):
        decide(Order(), REFUND)


@pytest.mark.parametrize("first", [(PURCHASE,), (TOPUP,), (ADDON,), (ADDON, REFUND)])
@pytest.mark.parametrize("second", [PURCHASE, TOPUP, ADDON])
def test_an_order_is_settled_once(
    first: tuple[OrderCommand, ...], second: Settle
) -> None:
    with pytest.raises(IllegalTransitionError, match="settle"):
        decide(after(*first), second)


def test_nothing_is_fulfilled_before_it_is_paid() -> None:
    with pytest.raises(IllegalTransitionError, match="fulfill"):
        decide(Order(), FULFILL)


COMMANDS = (PURCHASE, TOPUP, ADDON, FULFILL, Fulfill(OTHER), REFUND, PARTLY)


@given(st.lists(st.sampled_from(COMMANDS)))
def test_i6_whatever_is_asked_fulfilled_is_left_by_a_refund_alone(
    commands: list[OrderCommand],
) -> None:
    order, events = Order(), list[OrderEvent]()
    for command in commands:
        before = order.stage
        try:
            told = decide(order, command)
        except IllegalTransitionError:
            continue
        for event in told:
            order = evolve(order, event)
            events.append(event)
        assert before is not Stage.REFUNDED or told == ()
        if before is Stage.FULFILLED:
            assert all(isinstance(event, Refunded) for event in told)

    assert order.version == len(events) <= 3
    for kind in (Fulfilled, Refunded):
        assert sum(isinstance(event, kind) for event in events) <= 1
