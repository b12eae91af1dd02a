"""What a refund takes back of an order's goods: what no provider was asked for."""

import pytest

from application.policies import ORDER_FANOUT, ORDER_REFUND
from domain.entitlement.state import Entitlement
from domain.goods.commands import GoodsCommand, Withdraw
from domain.goods.events import Cancelled
from domain.goods.state import Stage as DeliveryStage
from domain.jobs.outcome import Completed
from domain.order.aggregate import Stage
from domain.order.events import Refunded
from domain.stream import Ref, StreamKind
from tests.application.orders.purchases import (
    CONFIRM,
    FAIL,
    REFUSE,
    REVIEW,
    SUBMIT,
    complete,
    move,
)
from tests.application.shop import Shop, access_line, goods_line


@pytest.fixture
def shop() -> Shop:
    return Shop()


def buy(shop: Shop) -> tuple[Ref, Ref, Ref]:
    """Pay access (50 of the 90 paid) and two lines of goods (27 and 13)."""
    order = shop.pay(
        access_line(line=1),
        goods_line(line=2, price_minor=30),
        goods_line(line=3, price_minor=15),
        amount_minor=90,
        discount_minor=10,
    )
    shop.fan_out_all()
    first, second = shop.deliveries(order)
    return order, first, second


def refund(shop: Shop, *lines: int, amount_minor: int | None = None) -> object:
    """Ask for a refund of the first order; return what its job says."""
    job = shop.refund("o1", lines=lines or None, amount_minor=amount_minor)
    outcome = shop.run(job)
    assert isinstance(outcome, Completed)
    return outcome.result


def told(shop: Shop, order: Ref) -> Refunded:
    """Return what the order says of its refund."""
    last = shop.log.events_of(order)[-1]
    assert isinstance(last, Refunded)
    return last


def is_off(shop: Shop) -> bool:
    return any(
        isinstance(head.state, Entitlement) and head.state.is_disabled
        for head in shop.log.heads.values()
    )


def test_what_no_provider_was_asked_for_is_cancelled(shop: Shop) -> None:
    order, *goods = buy(shop)

    assert refund(shop) == {"refunded": 1}

    assert told(shop, order) == Refunded(
        lines=(1, 2, 3), amount_minor=90, reason="charged back"
    )
    assert is_off(shop)
    for delivery in goods:
        assert shop.log.delivery(delivery).stage is DeliveryStage.CANCELLED
        last = shop.log.events_of(delivery)[-1]
        assert last == Cancelled(code="order_refunded")
    assert complete(shop) == []


@pytest.mark.parametrize(
    ("commands", "state"),
    [
        ((SUBMIT,), "submitted"),
        ((SUBMIT, REVIEW), "needs_review"),
        ((SUBMIT, CONFIRM), "delivered"),
        ((SUBMIT, REFUSE), "refunded"),
    ],
)
def test_what_a_provider_was_asked_for_stays_and_is_told(
    shop: Shop, commands: tuple[GoodsCommand, ...], state: str
) -> None:
    order, first, second = buy(shop)
    move(shop, first, *commands)

    result = refund(shop)

    assert result == {"refunded": 1, "refused": [{"line": 2, "state": state}]}
    assert shop.log.delivery(first).stage == state
    assert shop.log.delivery(second).stage is DeliveryStage.CANCELLED
    assert told(shop, order) == Refunded(
        lines=(1, 3), amount_minor=63, reason="charged back"
    )


def test_an_amount_that_the_shop_tells_is_what_went_back(shop: Shop) -> None:
    order, first, _ = buy(shop)
    move(shop, first, SUBMIT)

    refund(shop, 2, 3, amount_minor=5)

    assert told(shop, order) == Refunded(
        lines=(3,), amount_minor=5, reason="charged back"
    )


def test_a_refund_of_nothing_but_what_was_asked_for_changes_nothing(
    shop: Shop,
) -> None:
    order, first, _ = buy(shop)
    move(shop, first, SUBMIT)

    result = refund(shop, 2)

    assert result == {"refunded": 0, "refused": [{"line": 2, "state": "submitted"}]}
    assert shop.log.paid(order).stage is Stage.PAID
    assert not is_off(shop)


def test_what_failed_before_anything_was_bought_is_cancelled(shop: Shop) -> None:
    _, first, _ = buy(shop)
    move(shop, first, FAIL)

    assert refund(shop, 2) == {"refunded": 1}

    assert shop.log.delivery(first).stage is DeliveryStage.CANCELLED


def test_a_refund_of_the_access_leaves_the_goods_alone(shop: Shop) -> None:
    order, first, second = buy(shop)

    assert refund(shop, 1) == {"refunded": 1}

    assert is_off(shop)
    assert told(shop, order).lines == (1,)
    assert told(shop, order).amount_minor == 50
    for delivery in (first, second):
        assert shop.log.delivery(delivery).stage is DeliveryStage.PENDING


def test_a_refund_of_goods_leaves_the_access_alone(shop: Shop) -> None:
    order, *_ = buy(shop)

    assert refund(shop, 3) == {"refunded": 1}

    assert not is_off(shop)
    assert told(shop, order).amount_minor == 13


def test_what_is_not_refunded_is_owed_when_the_order_is_decided_later(
    shop: Shop,
) -> None:
    order = shop.pay(access_line(line=1), goods_line(line=2), goods_line(line=3))
    refund(shop, 1, 3)

    shop.fan_out_all()

    (delivery,) = shop.deliveries(order)
    assert shop.log.delivery(delivery).line == 2
    assert shop.operations() == []
    assert not any(ref.kind is StreamKind.ENTITLEMENT for ref in shop.log.heads)


def test_the_access_is_owed_when_only_goods_are_refunded_before_that(
    shop: Shop,
) -> None:
    order = shop.pay(access_line(line=1), goods_line(line=2))
    refund(shop, 2)

    shop.fan_out_all()

    assert shop.deliveries(order) == []
    assert len(shop.operations()) == 1


def test_nothing_is_owed_of_an_order_that_is_refunded_whole_before_that(
    shop: Shop,
) -> None:
    order = shop.pay(access_line(line=1), goods_line(line=2))
    refund(shop)

    (job,) = shop.waiting(ORDER_FANOUT)

    assert shop.run(job) == Completed(result={"owed": 0})
    assert shop.deliveries(order) == []


def test_a_purchase_that_is_submitted_while_its_refund_is_decided_is_seen(
    shop: Shop,
) -> None:
    """The refund read that nobody had asked: it looks again, and loses nothing."""
    order, first, second = buy(shop)
    job = shop.refund("o1", lines=(2, 3))
    claim = shop.claim(job)
    decided = shop.handle(claim)

    move(shop, first, SUBMIT)
    shop.settle(claim, decided)

    assert shop.log.delivery(first).stage is DeliveryStage.SUBMITTED
    assert shop.log.delivery(second).stage is DeliveryStage.PENDING
    assert shop.log.paid(order).stage is Stage.PAID
    assert shop.waiting(ORDER_REFUND) == [job]
    outcome = shop.run(job)
    assert isinstance(outcome, Completed)
    assert outcome.result == {
        "refunded": 1,
        "refused": [{"line": 2, "state": "submitted"}],
    }
    assert told(shop, order).lines == (3,)


def test_a_purchase_that_is_withdrawn_while_its_refund_is_refused_is_seen(
    shop: Shop,
) -> None:
    """An order is refunded once: what could be taken back after all is not lost."""
    order, first, _ = buy(shop)
    move(shop, first, SUBMIT)
    job = shop.refund("o1", lines=(2,))
    claim = shop.claim(job)
    decided = shop.handle(claim)

    move(shop, first, Withdraw("no_room"))
    shop.settle(claim, decided)

    assert shop.waiting(ORDER_REFUND) == [job]
    assert shop.run(job) != decided
    assert shop.log.delivery(first).stage is DeliveryStage.CANCELLED
    assert told(shop, order).lines == (2,)


def test_goods_that_are_owed_while_their_refund_is_decided_are_cancelled(
    shop: Shop,
) -> None:
    """The refund read that nothing was owed yet: it looks again."""
    order = shop.pay(goods_line())
    job = shop.refund("o1")
    claim = shop.claim(job)
    decided = shop.handle(claim)

    shop.fan_out_all()
    shop.settle(claim, decided)

    assert shop.log.paid(order).stage is Stage.PAID
    shop.run(job)
    (delivery,) = shop.deliveries(order)
    assert shop.log.delivery(delivery).stage is DeliveryStage.CANCELLED
    assert shop.log.paid(order).stage is Stage.REFUNDED


def test_a_refund_while_goods_are_being_owed_is_seen(shop: Shop) -> None:
    """The fan-out decided from an order that was not refunded yet: it looks again."""
    order = shop.pay(goods_line(line=1), goods_line(line=2))
    (job,) = shop.waiting(ORDER_FANOUT)
    claim = shop.claim(job)
    owed = shop.handle(claim)

    refund(shop, 2)
    shop.settle(claim, owed)

    assert shop.deliveries(order) == []
    shop.run(job)
    (delivery,) = shop.deliveries(order)
    assert shop.log.delivery(delivery).line == 1
