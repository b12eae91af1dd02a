"""What an order's lines of goods owe, decided once and together with its access."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.order_fanout import OrderFanoutArgs
from application.policies import GOODS_DELIVERY, ORDER_FANOUT
from domain.goods.events import Owed, Product
from domain.goods.state import Stage
from domain.jobs.outcome import Completed, Fail
from domain.stream import Ref, StreamKind
from tests.application.memory import START, MemoryContext
from tests.application.shop import Shop, access_line, goods_line


@pytest.fixture
def shop() -> Shop:
    return Shop()


def paid_for(shop: Shop, order: Ref) -> list[int]:
    return [shop.log.delivery(ref).paid_minor for ref in shop.deliveries(order)]


def test_an_order_of_goods_alone_owes_a_delivery_and_has_no_entitlement(
    shop: Shop,
) -> None:
    order = shop.pay(goods_line(line=3, quantity=2), amount_minor=80)

    outcome = shop.run(shop.waiting(ORDER_FANOUT)[0])

    assert isinstance(outcome, Completed)
    assert outcome.result == {"owed": 1}
    (delivery,) = shop.deliveries(order)
    assert shop.log.events_of(delivery) == [
        Owed(
            order=order.id,
            order_id="o1",
            customer_id="c1",
            line=3,
            provider="starshop",
            product=Product(kind="telegram_stars", quantity=50),
            quantity=2,
            recipient="anna",
            currency="USD",
            cost_minor=30,
            price_minor=40,
            paid_minor=80,
        )
    ]
    assert shop.log.delivery(delivery).stage is Stage.PENDING
    assert {ref.kind for ref in shop.log.heads} == {
        StreamKind.ORDER,
        StreamKind.DELIVERY,
        StreamKind.JOB,
    }


def test_each_delivery_has_a_job_of_its_own_in_turn_with_the_orders_others(
    shop: Shop,
) -> None:
    order = shop.pay(goods_line(line=1), goods_line(line=2, provider="other"))
    shop.wait(seconds=5)

    shop.fan_out_all()

    jobs = [shop.log.job(ref) for ref in shop.waiting(GOODS_DELIVERY)]
    deliveries = shop.deliveries(order)
    assert [job.unique_key for job in jobs] == [
        f"goods_delivery:{ref.id}" for ref in deliveries
    ]
    assert {job.serial_key for job in jobs} == {f"goods:{order.id}"}
    assert {job.queue for job in jobs} == {"critical"}
    assert {job.run_at for job in jobs} == {START + timedelta(seconds=5)}
    assert [shop.log.job_args(ref.id) for ref in shop.waiting(GOODS_DELIVERY)] == [
        {"delivery_id": str(ref.id)} for ref in deliveries
    ]


def test_access_and_goods_of_one_order_are_owed_together(shop: Shop) -> None:
    order = shop.pay(
        goods_line(line=2, price_minor=40),
        access_line(days=30),
        goods_line(line=3, price_minor=10),
        amount_minor=90,
        discount_minor=10,
    )

    outcome = shop.run(shop.waiting(ORDER_FANOUT)[0])

    assert isinstance(outcome, Completed)
    assert outcome.result == {"owed": 3}
    (operation,) = shop.operations()
    assert shop.log.operation(operation).order == order.id
    assert paid_for(shop, order) == [36, 9]


def test_run_twice_it_owes_once(shop: Shop) -> None:
    """Whoever asks for a fan-out again: a line has one delivery for ever."""
    both = shop.pay(access_line(), goods_line())
    alone = shop.pay(goods_line())
    shop.fan_out_all()
    context = MemoryContext(job_id=UUID(int=9), token=1)

    again = [
        shop.fan_out(OrderFanoutArgs(order_stream_id=order.id), context)
        for order in (both, alone)
    ]

    assert again == [Completed(result={"owed": 0})] * 2


def test_a_fan_out_that_somebody_else_asked_for_owes_no_goods(shop: Shop) -> None:
    """Anybody may enqueue a job; what an order owes is decided by its own."""
    order = shop.pay(goods_line())
    context = MemoryContext(job_id=UUID(int=9), token=1)

    outcome = shop.fan_out(OrderFanoutArgs(order_stream_id=order.id), context)

    assert outcome == Fail(code="not_its_job")


def test_goods_of_an_order_that_takes_effect_later_are_bought_then(shop: Shop) -> None:
    later = START + timedelta(days=2)
    shop.pay(access_line(), goods_line(), effective_at=later)

    shop.fan_out_all()

    (job,) = shop.waiting(GOODS_DELIVERY)
    assert shop.log.job(job).run_at == later


def test_goods_of_an_order_that_took_effect_before_are_bought_at_once(
    shop: Shop,
) -> None:
    """Mechanisms 17: no job is due before it is born."""
    shop.pay(goods_line(), effective_at=START - timedelta(days=2))

    shop.fan_out_all()

    (job,) = shop.waiting(GOODS_DELIVERY)
    assert shop.log.job(job).run_at == START
