"""What a refund takes back, whatever has become of its order meanwhile."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.order_refund import OrderRefundArgs
from application.policies import ORDER_FANOUT, ORDER_REFUND
from application.ports import Rejected, Unavailable
from domain.entitlement.state import Entitlement
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.aggregate import Stage as OperationStage
from domain.jobs.aggregate import Enqueue
from domain.jobs.outcome import Completed, Fail
from domain.order.aggregate import Stage
from domain.order.events import AddonLine, Refunded
from domain.stream import Ref, StreamKind
from tests.application.memory import MemoryContext
from tests.application.shop import Shop

ADDON = AddonLine(line=1, type="access", days=7)
NOBODY = Ref(StreamKind.ORDER, UUID(int=0))


@pytest.fixture
def shop() -> Shop:
    return Shop()


def refund(shop: Shop, order_id: str) -> dict[str, object] | None:
    """Ask for a refund and let its job decide; return the job's result."""
    outcome = shop.run(shop.refund(order_id))
    assert isinstance(outcome, Completed)
    return outcome.result


def stage(shop: Shop, order: Ref) -> Stage:
    return shop.log.paid(order).stage


def entitlement(shop: Shop) -> Entitlement:
    (owner,) = (ref for ref in shop.log.heads if ref.kind is StreamKind.ENTITLEMENT)
    return shop.log.entitlement(owner)


def disabling(shop: Shop) -> list[FulfillmentOperation]:
    operations = [shop.log.operation(ref) for ref in shop.operations()]
    return [each for each in operations if each.operation == "disable"]


def test_a_fulfilled_order_is_refunded_and_its_access_ends(shop: Shop) -> None:
    order = shop.pay()
    shop.fan_out_all()
    shop.run(shop.job_of(shop.operations()[-1]))

    result = refund(shop, "o1")

    assert result == {"refunded": 1}
    assert stage(shop, order) is Stage.REFUNDED
    assert shop.log.events_of(order)[-1] == Refunded(
        lines=(1,), amount_minor=100, reason="charged back"
    )
    assert entitlement(shop).is_disabled
    (disable,) = disabling(shop)
    assert disable.idempotency_key == "order:o1:refund"
    assert disable.order == order.id
    assert disable.desired_version == entitlement(shop).desired_version == 2

    shop.run(shop.job_of(shop.operations()[-1]))

    assert shop.panel.operations[-1] == "disable"
    assert shop.panel.asked[-1][1].is_off
    assert stage(shop, order) is Stage.REFUNDED


def test_what_is_on_its_way_to_the_panel_gives_no_access_any_more(shop: Shop) -> None:
    order = shop.pay()
    shop.fan_out_all()
    (create,) = shop.operations()
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(create))

    refund(shop, "o1")
    shop.run(shop.job_of(create))

    assert shop.log.operation(create).stage is OperationStage.SUCCEEDED
    assert shop.panel.asked[-1][1].is_off
    assert stage(shop, order) is Stage.REFUNDED
    assert not shop.log.is_fulfilled(order.id)


def test_a_refund_while_the_panel_is_being_asked_is_not_overrun(shop: Shop) -> None:
    """The answer stands, and the order stays refunded."""
    order = shop.pay()
    shop.fan_out_all()
    (create,) = shop.operations()
    shop.panel.meanwhile = lambda: refund(shop, "o1")

    shop.run(shop.job_of(create))

    assert shop.log.operation(create).stage is OperationStage.SUCCEEDED
    assert stage(shop, order) is Stage.REFUNDED
    assert len(disabling(shop)) == 1


def test_an_order_that_nobody_has_decided_yet_owes_nothing_any_more(
    shop: Shop,
) -> None:
    order = shop.pay()

    refund(shop, "o1")
    shop.fan_out_all()

    assert stage(shop, order) is Stage.REFUNDED
    assert shop.operations() == []
    assert shop.waiting(ORDER_FANOUT) == []
    assert not any(ref.kind is StreamKind.ENTITLEMENT for ref in shop.log.heads)


def test_what_other_orders_gave_stays_when_the_refunded_one_gave_nothing(
    shop: Shop,
) -> None:
    shop.buy()
    shop.pay()

    refund(shop, "o2")
    shop.fan_out_all()

    assert not entitlement(shop).is_disabled
    assert len(shop.operations()) == 1


def test_a_refund_between_reading_and_deciding_an_order_is_seen(shop: Shop) -> None:
    """The fan-out decided from an order that was not refunded yet: it looks again."""
    order = shop.pay()
    (job,) = shop.waiting(ORDER_FANOUT)
    context = shop.claim(job)
    owed = shop.handle(context)

    refund(shop, "o1")
    shop.settle(context, owed)

    assert shop.operations() == []
    assert shop.waiting(ORDER_FANOUT) == [job]
    assert shop.run(job) == Completed(result={"owed": 0})
    assert stage(shop, order) is Stage.REFUNDED


def test_an_order_that_is_decided_while_its_refund_is_loses_its_access(
    shop: Shop,
) -> None:
    """The refund read that nothing had been granted: it looks again."""
    order = shop.pay()
    job = shop.refund("o1")
    context = shop.claim(job)
    decided = shop.handle(context)

    shop.fan_out_all()
    shop.settle(context, decided)

    assert stage(shop, order) is Stage.PAID
    assert shop.waiting(ORDER_REFUND) == [job]
    shop.run(job)
    assert stage(shop, order) is Stage.REFUNDED
    assert entitlement(shop).is_disabled
    assert len(disabling(shop)) == 1


def test_a_settlement_between_reading_and_refunding_is_seen(shop: Shop) -> None:
    shop.buy()
    job = shop.refund("o1")
    context = shop.claim(job)
    decided = shop.handle(context)

    shop.buy()
    shop.settle(context, decided)
    assert not entitlement(shop).is_disabled
    shop.run(job)

    assert entitlement(shop).is_disabled
    assert disabling(shop)[0].desired_version == 3


def test_the_order_of_a_dead_fan_out_is_refunded_and_stays_undelivered(
    shop: Shop,
) -> None:
    order = shop.pay(addon=ADDON)
    assert shop.run(shop.waiting(ORDER_FANOUT)[0]) == Fail(code="no_entitlement")

    refund(shop, "o1")

    assert stage(shop, order) is Stage.REFUNDED
    assert shop.operations() == []


def test_an_add_on_is_refunded_and_changes_no_access(shop: Shop) -> None:
    shop.buy()
    addon = shop.pay(addon=ADDON)
    shop.fan_out_all()

    refund(shop, "o2")

    assert stage(shop, addon) is Stage.REFUNDED
    assert not entitlement(shop).is_disabled
    assert disabling(shop) == []


def test_a_topup_is_refunded_and_has_no_lines(shop: Shop) -> None:
    topup = shop.pay(kind="topup")

    refund(shop, "o1")

    assert shop.log.events_of(topup)[-1] == Refunded(
        lines=(), amount_minor=100, reason="charged back"
    )


def test_a_part_of_the_money_is_recorded_as_it_was_told(shop: Shop) -> None:
    order = shop.pay()
    shop.fan_out_all()

    shop.run(shop.refund("o1", lines=(1,), amount_minor=40))

    assert shop.log.events_of(order)[-1] == Refunded(
        lines=(1,), amount_minor=40, reason="charged back"
    )
    assert entitlement(shop).is_disabled


def test_a_line_that_the_order_does_not_have_waits_for_a_person(shop: Shop) -> None:
    order = shop.pay()
    shop.fan_out_all()

    outcome = shop.run(shop.refund("o1", lines=(1, 2)))

    assert outcome == Fail(code="line_missing")
    assert stage(shop, order) is Stage.PAID
    assert not entitlement(shop).is_disabled


def test_a_refund_of_an_order_that_nobody_settled_waits_for_a_person(
    shop: Shop,
) -> None:
    assert shop.run(shop.refund("o1")) == Fail(code="order_missing")


def test_run_twice_it_decides_once(shop: Shop) -> None:
    """I5: the refund's key belongs to the order for ever."""
    shop.pay()
    shop.fan_out_all()
    job = shop.refund("o1")
    shop.run(job)
    args = OrderRefundArgs(order_id="o1", lines=None, amount_minor=None, reason="why")

    again = shop.take_back(args, MemoryContext(job_id=job.id, token=1))

    assert again == Completed(result={"refunded": 0})


def test_two_refunded_orders_of_a_customer_end_the_access_once(shop: Shop) -> None:
    shop.buy()
    second = shop.pay()
    shop.fan_out_all()

    refund(shop, "o1")
    refund(shop, "o2")

    assert stage(shop, second) is Stage.REFUNDED
    assert [each.desired_version for each in disabling(shop)] == [3]
    assert entitlement(shop).is_disabled


def test_who_buys_again_after_a_refund_has_access_again(shop: Shop) -> None:
    shop.run(shop.job_of(shop.buy()))
    refund(shop, "o1")
    shop.run(shop.job_of(shop.operations()[-1]))

    again = shop.buy()
    shop.run(shop.job_of(again))

    assert not entitlement(shop).is_disabled
    assert not shop.panel.asked[-1][1].is_off


def test_the_refund_of_a_planned_order_keeps_off_what_it_would_have_brought_back(
    shop: Shop,
) -> None:
    shop.run(shop.job_of(shop.buy()))
    refund(shop, "o1")
    planned = shop.buy(effective_at=shop.log.now + timedelta(days=5))

    refund(shop, "o2")
    shop.wait(days=5)
    shop.run(shop.job_of(planned))

    assert shop.panel.asked[-1][1].is_off
    assert len(disabling(shop)) == 2


def test_a_refund_whose_panel_operation_fails_stays_a_dead_letter(shop: Shop) -> None:
    order = shop.pay()
    shop.fan_out_all()
    shop.run(shop.job_of(shop.operations()[-1]))
    refund(shop, "o1")
    shop.panel.answers.append(Rejected("remnawave_http_400"))

    shop.run(shop.job_of(shop.operations()[-1]))

    assert disabling(shop)[0].stage is OperationStage.FAILED
    assert stage(shop, order) is Stage.REFUNDED


def test_a_job_that_did_not_come_through_the_door_refunds_nothing(shop: Shop) -> None:
    """Anybody may enqueue a job; a refund is asked for under its key."""
    order = shop.pay()
    stranger = shop.enqueue(
        Enqueue(
            kind=ORDER_REFUND,
            args={"order_id": "o1", "lines": None, "amount_minor": None, "reason": "x"},
            run_at=shop.log.now,
        )
    )

    assert shop.run(stranger) == Fail(code="not_its_job")
    assert stage(shop, order) is Stage.PAID


def test_another_tenants_order_is_not_found(shop: Shop) -> None:
    shop.pay(tenant="other")
    args = OrderRefundArgs(order_id="o1", lines=None, amount_minor=None, reason="why")

    outcome = shop.take_back(args, MemoryContext(job_id=UUID(int=9), token=1))

    assert outcome == Fail(code="not_its_job")


@pytest.mark.parametrize("first", [ORDER_REFUND, ORDER_FANOUT])
@pytest.mark.parametrize("is_refund_last", [False, True])
def test_what_was_asked_for_last_counts_whichever_is_decided_first(
    shop: Shop,
    first: str,
    is_refund_last: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    """A shop that takes one order back and sells another in one transaction."""
    shop.buy()
    shop.wait(seconds=1)
    if is_refund_last:
        shop.pay(kind="upgrade")
        shop.wait(seconds=1)
    shop.refund("o1")
    if not is_refund_last:
        shop.wait(seconds=1)
        shop.pay(kind="upgrade")

    shop.wait(minutes=5)
    for kind in (first, ORDER_REFUND, ORDER_FANOUT):
        for job in shop.waiting(kind):
            shop.run(job)
    shop.run_all()

    assert stage(shop, shop.log.keys["default", "o1"].order or NOBODY) is Stage.REFUNDED
    assert entitlement(shop).is_disabled == is_refund_last
    assert (shop.user.observed.status == "DISABLED") == is_refund_last


def test_an_add_on_after_a_refund_keeps_no_access(shop: Shop) -> None:
    shop.buy()
    refunded = shop.refund("o1")
    shop.wait(seconds=1)
    shop.pay(addon=ADDON)
    shop.fan_out_all()

    shop.run(refunded)

    assert entitlement(shop).is_disabled
