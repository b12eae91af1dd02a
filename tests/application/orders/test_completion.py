"""When everything of an order with goods is over, whatever ends last."""

from uuid import UUID

import pytest

from application.orders.completion import OrderCompletion, OrderCompletionArgs
from application.policies import ORDER_COMPLETION
from domain.fulfillment.aggregate import Stage as OperationStage
from domain.jobs.aggregate import Stage as JobStage
from domain.jobs.outcome import Completed, Fail
from domain.order.aggregate import Stage
from domain.order.events import Fulfilled, Refunded
from domain.stream import Ref
from tests.application.memory import MemoryContext
from tests.application.orders.purchases import (
    CANCEL,
    REVIEW,
    SUBMIT,
    complete,
    deliver,
    give_back,
    move,
)
from tests.application.shop import Shop, access_line, goods_line


@pytest.fixture
def shop() -> Shop:
    return Shop()


def stage(shop: Shop, order: Ref) -> Stage:
    return shop.log.paid(order).stage


def buy_both(shop: Shop) -> tuple[Ref, Ref, Ref]:
    """Pay access and goods in one order; return it, its operation and delivery."""
    order = shop.pay(access_line(line=1), goods_line(line=2))
    shop.fan_out_all()
    (delivery,) = shop.deliveries(order)
    return order, shop.operations()[-1], delivery


def test_goods_alone_are_fulfilled_by_their_delivery(shop: Shop) -> None:
    order = shop.pay(goods_line())
    shop.fan_out_all()
    (delivery,) = shop.deliveries(order)

    deliver(shop, delivery)

    assert complete(shop) == ["fulfilled"]
    assert shop.log.events_of(order)[-1] == Fulfilled(operation=None)
    assert shop.log.paid(order).fulfilled_by is None


def test_the_access_of_an_order_with_goods_does_not_fulfil_it_alone(
    shop: Shop,
) -> None:
    order, operation, delivery = buy_both(shop)

    shop.run(shop.job_of(operation))

    assert stage(shop, order) is Stage.PAID
    assert complete(shop) == ["waiting"]
    deliver(shop, delivery)
    assert complete(shop) == ["fulfilled"]
    assert shop.log.events_of(order)[-1] == Fulfilled(operation=operation.id)


def test_goods_that_come_first_wait_for_the_access(shop: Shop) -> None:
    order, operation, delivery = buy_both(shop)

    deliver(shop, delivery)

    assert complete(shop) == ["waiting"]
    shop.run(shop.job_of(operation))
    assert complete(shop) == ["fulfilled"]
    assert stage(shop, order) is Stage.FULFILLED


def test_the_access_of_an_order_without_goods_fulfils_it_at_once(shop: Shop) -> None:
    order = shop.pay()
    shop.fan_out_all()

    shop.run(shop.job_of(shop.operations()[-1]))

    assert stage(shop, order) is Stage.FULFILLED
    assert shop.waiting(ORDER_COMPLETION) == []


def test_goods_of_which_none_could_be_had_are_an_order_refunded(shop: Shop) -> None:
    order = shop.pay(
        goods_line(line=4, price_minor=60),
        goods_line(line=2, price_minor=40),
        amount_minor=90,
        discount_minor=10,
    )
    shop.fan_out_all()
    first, second = shop.deliveries(order)

    give_back(shop, first)
    move(shop, second, CANCEL)

    assert complete(shop) == ["refunded", "refunded"]
    assert shop.log.events_of(order)[1:] == [
        Refunded(lines=(2, 4), amount_minor=90, reason="goods_refunded")
    ]


def test_an_order_of_which_something_was_delivered_is_fulfilled(shop: Shop) -> None:
    goods = shop.pay(goods_line(line=1), goods_line(line=2))
    shop.fan_out_all()
    first, second = shop.deliveries(goods)
    give_back(shop, first)
    deliver(shop, second)
    both, operation, third = buy_both(shop)
    shop.run(shop.job_of(operation))
    give_back(shop, third)

    complete(shop)

    assert stage(shop, goods) is Stage.FULFILLED
    assert stage(shop, both) is Stage.FULFILLED


@pytest.mark.parametrize("commands", [(), (SUBMIT,), (SUBMIT, REVIEW)])
def test_an_order_waits_for_a_delivery_that_is_open(
    shop: Shop, commands: tuple[object, ...]
) -> None:
    order = shop.pay(goods_line(line=1), goods_line(line=2))
    shop.fan_out_all()
    first, second = shop.deliveries(order)
    for command in commands:
        assert command in (SUBMIT, REVIEW)
        move(shop, first, SUBMIT if command is SUBMIT else REVIEW)

    deliver(shop, second)

    assert complete(shop) == ["waiting"]
    assert stage(shop, order) is Stage.PAID


def test_a_covered_access_is_carried_by_the_operation_that_covers_it(
    shop: Shop,
) -> None:
    """The later one succeeds afterwards, and looks at the earlier order too."""
    order, earlier, delivery = buy_both(shop)
    later = shop.buy()

    shop.run(shop.job_of(earlier))
    deliver(shop, delivery)

    assert shop.log.operation(earlier).covered_by == later.id
    assert complete(shop) == ["waiting"]
    shop.run(shop.job_of(later))
    assert complete(shop) == ["fulfilled"]
    assert shop.log.events_of(order)[-1] == Fulfilled(operation=later.id)


def test_an_access_that_is_covered_after_that_success_looks_at_its_own_order(
    shop: Shop,
) -> None:
    order, earlier, delivery = buy_both(shop)
    later = shop.buy()
    shop.run(shop.job_of(later))
    deliver(shop, delivery)
    assert complete(shop) == ["waiting"]

    outcome = shop.run(shop.job_of(earlier))

    assert outcome == Completed(result={"ended": "covered"})
    assert stage(shop, order) is Stage.PAID
    assert complete(shop) == ["fulfilled"]
    assert shop.log.events_of(order)[-1] == Fulfilled(operation=later.id)


def test_an_access_that_an_operator_cancelled_never_fulfils(shop: Shop) -> None:
    order, operation, delivery = buy_both(shop)
    context = shop.claim(shop.job_of(operation))
    shop.settle(context, Fail(code="remnawave_http_400"))

    deliver(shop, delivery)

    assert shop.log.operation(operation).stage is OperationStage.FAILED
    assert complete(shop) == ["waiting"]
    assert stage(shop, order) is Stage.PAID


def test_two_that_end_at_once_fulfil_once(shop: Shop) -> None:
    """Both jobs have read that all is over when the first one is settled."""
    order = shop.pay(goods_line(line=1), goods_line(line=2))
    shop.fan_out_all()
    for delivery in shop.deliveries(order):
        deliver(shop, delivery)
    jobs = shop.waiting(ORDER_COMPLETION)
    claims = [shop.claim(job) for job in jobs]
    decided = [shop.handle(claim) for claim in claims]

    for claim, outcome in zip(claims, decided, strict=True):
        shop.settle(claim, outcome)

    assert len(jobs) == 2
    assert {shop.log.job(job).stage for job in jobs} == {JobStage.SUCCEEDED}
    assert shop.log.events_of(order)[1:] == [Fulfilled(operation=None)]


def test_two_refunds_that_end_at_once_are_told_once(shop: Shop) -> None:
    order = shop.pay(goods_line(line=1), goods_line(line=2))
    shop.fan_out_all()
    for delivery in shop.deliveries(order):
        give_back(shop, delivery)
    claims = [shop.claim(job) for job in shop.waiting(ORDER_COMPLETION)]
    decided = [shop.handle(claim) for claim in claims]

    for claim, outcome in zip(claims, decided, strict=True):
        shop.settle(claim, outcome)

    # The second one has lost a race: it is given back, and then sees the end.
    assert complete(shop) == ["refunded"]
    assert len(shop.log.events_of(order)) == 2


def test_the_job_of_whatever_ends_last_sees_the_end(shop: Shop) -> None:
    """The first job has read before the second delivery was over."""
    order = shop.pay(goods_line(line=1), goods_line(line=2))
    shop.fan_out_all()
    first, second = shop.deliveries(order)
    deliver(shop, first)
    claim = shop.claim(shop.waiting(ORDER_COMPLETION)[0])
    decided = shop.handle(claim)
    deliver(shop, second)
    shop.settle(claim, decided)
    assert stage(shop, order) is Stage.PAID

    assert complete(shop) == ["fulfilled"]
    assert stage(shop, order) is Stage.FULFILLED


def test_an_order_that_is_refunded_meanwhile_stays_refunded(shop: Shop) -> None:
    order, operation, delivery = buy_both(shop)
    shop.run(shop.job_of(operation))
    deliver(shop, delivery)
    first, second = shop.waiting(ORDER_COMPLETION)
    claim = shop.claim(first)
    decided = shop.handle(claim)

    shop.run(shop.refund("o1", lines=(1,)))
    shop.settle(claim, decided)

    assert shop.log.job(first).stage is JobStage.SUCCEEDED
    assert stage(shop, order) is Stage.REFUNDED
    assert shop.run(second) == Completed(result={"order": "refunded"})


def test_whoever_looks_too_early_sees_that_there_is_more_to_come(shop: Shop) -> None:
    order = shop.pay(access_line(line=1), goods_line(line=2))
    look = OrderCompletion(streams=shop.log)
    context = MemoryContext(job_id=UUID(int=9), token=1)
    early = OrderCompletionArgs(order_stream_id=order.id, cause=UUID(int=8))
    topup = shop.pay(kind="topup")
    of_topup = OrderCompletionArgs(order_stream_id=topup.id, cause=UUID(int=8))
    nowhere = OrderCompletionArgs(order_stream_id=UUID(int=7), cause=UUID(int=8))

    assert look(early, context) == Completed(result={"order": "waiting"})
    assert look(of_topup, context) == Completed(result={"order": "fulfilled"})
    assert look(nowhere, context) == Fail(code="order_missing")
