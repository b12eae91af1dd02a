"""Every kind of settlement, now and later, from the payment to the panel."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import UNSET

from application.policies import ORDER_FANOUT
from application.ports import Unavailable
from domain.entitlement.state import Desired, Entitlement
from domain.fulfillment.aggregate import Stage
from domain.jobs.outcome import Completed, Fail, Snooze
from domain.order.events import AddonLine, Line
from domain.stream import Ref, StreamKind
from tests.application.memory import START
from tests.application.shop import Shop, access_line

MONTH = timedelta(days=30)
GIB = 2**30
SQUAD = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.fixture
def shop() -> Shop:
    return Shop()


def addon(**members: Any) -> AddonLine:  # noqa: ANN401 - members of the line
    return AddonLine(line=1, type="access", **members)


def entitlement(shop: Shop) -> Entitlement:
    (owner,) = (ref for ref in shop.log.heads if ref.kind is StreamKind.ENTITLEMENT)
    return shop.log.entitlement(owner)


def in_force(shop: Shop) -> Desired:
    desired = entitlement(shop).desired
    assert desired is not None
    return desired


def pushed(shop: Shop) -> Desired:
    """Return what the panel was asked to show last."""
    return shop.panel.asked[-1][1].desired


def later(shop: Shop, *lines: Line, days: int, kind: str = "purchase") -> Ref:
    """Settle an order that takes effect in so many days; return its operation."""
    effective_at = shop.log.now + timedelta(days=days)
    shop.pay(*lines, effective_at=effective_at, kind=kind)
    shop.fan_out_all()
    return shop.operations()[-1]


def add(shop: Shop, line: AddonLine) -> Ref:
    """Settle an add-on; return its operation."""
    shop.pay(addon=line)
    shop.fan_out_all()
    return shop.operations()[-1]


@pytest.mark.parametrize(
    "kind", ["purchase", "renewal", "extension", "upgrade", "downgrade"]
)
def test_a_settlement_of_access_asks_for_one_create(shop: Shop, kind: str) -> None:
    order = shop.pay(access_line(device_limit=2), kind=kind)

    shop.fan_out_all()

    (operation,) = shop.operations()
    state = shop.log.operation(operation)
    assert (state.operation, state.idempotency_key) == ("create", "order:o1:fulfill")
    shop.run(shop.job_of(operation))
    assert shop.panel.operations == ["create"]
    assert pushed(shop).device_limit == 2
    assert shop.log.is_fulfilled(order.id)


def test_a_topup_asks_for_nothing(shop: Shop) -> None:
    order = shop.pay(kind="topup")

    shop.fan_out_all()

    assert shop.log.is_fulfilled(order.id)
    assert shop.operations() == []


def test_an_add_on_asks_for_one_set_limits(shop: Shop) -> None:
    shop.run(shop.job_of(shop.buy(access_line(traffic_bytes=GIB))))
    order = shop.pay(addon=addon(traffic_bytes=5 * GIB))

    shop.fan_out_all()

    operation = shop.operations()[-1]
    state = shop.log.operation(operation)
    assert (state.operation, state.idempotency_key) == ("set_limits", "order:o2:addon")
    assert state.desired_version == entitlement(shop).desired_version == 2
    assert not shop.log.is_fulfilled(order.id)
    shop.run(shop.job_of(operation))
    assert shop.panel.operations == ["create", "set_limits"]
    assert pushed(shop).traffic_bytes == 5 * GIB
    assert shop.log.is_fulfilled(order.id)


def test_what_an_add_on_does_not_say_stays_as_it_is(shop: Shop) -> None:
    shop.buy(
        access_line(
            days=30,
            grace_seconds=60,
            traffic_bytes=GIB,
            device_limit=2,
            squad_ids=(SQUAD,),
            reset_traffic=True,
        )
    )
    shop.wait(days=3)

    add(shop, addon(device_limit=None))

    assert in_force(shop) == Desired(
        ends_at=START + MONTH,
        grace_seconds=60,
        traffic_bytes=GIB,
        device_limit=None,
        squad_ids=(SQUAD,),
        reset_traffic=False,
    )


@pytest.mark.parametrize(
    ("line", "ends_at"),
    [
        (addon(days=7), START + MONTH + timedelta(days=7)),
        (addon(ends_at=START + 2 * MONTH), START + 2 * MONTH),
        (addon(grace_seconds=5), START + MONTH),
    ],
)
def test_an_add_on_may_move_the_end(
    shop: Shop, line: AddonLine, ends_at: object
) -> None:
    shop.buy(access_line(days=30))
    shop.wait(days=3)

    add(shop, line)

    assert in_force(shop).ends_at == ends_at
    assert in_force(shop).grace_seconds == (
        0 if line.grace_seconds is UNSET else line.grace_seconds
    )


def test_days_of_an_add_on_count_from_its_settlement_when_access_has_ended(
    shop: Shop,
) -> None:
    shop.buy(access_line(days=30))
    shop.wait(days=40)

    add(shop, addon(days=7))

    assert in_force(shop).ends_at == START + timedelta(days=47)


def test_an_add_on_without_access_waits_for_a_person(shop: Shop) -> None:
    shop.pay(addon=addon(days=7))

    outcome = shop.run(shop.waiting(ORDER_FANOUT)[0])

    assert outcome == Fail(code="no_entitlement")
    assert shop.operations() == []


def test_an_add_on_takes_its_turn_behind_the_purchase_before_it(shop: Shop) -> None:
    shop.pay()
    shop.pay(addon=addon(days=7))

    jobs = [shop.log.job(job) for job in shop.waiting(ORDER_FANOUT)]

    assert len({job.serial_key for job in jobs}) == 1
    shop.fan_out_all()
    assert in_force(shop).ends_at == START + MONTH + timedelta(days=7)


def test_an_add_on_that_is_decided_late_leaves_the_limits_of_a_later_payment(
    shop: Shop,
) -> None:
    """Limits are those of the settlement paid last; days always add."""
    shop.buy(access_line(days=30, traffic_bytes=GIB))
    shop.pay(addon=addon(days=7, traffic_bytes=9 * GIB))
    (late,) = shop.waiting(ORDER_FANOUT)
    shop.wait(days=1)
    shop.pay(access_line(days=30, traffic_bytes=3 * GIB))
    (soon,) = set(shop.waiting(ORDER_FANOUT)) - {late}
    shop.run(soon)

    shop.run(late)

    assert in_force(shop).traffic_bytes == 3 * GIB
    assert in_force(shop).ends_at == START + timedelta(days=67)
    operation = shop.log.operation(shop.operations()[-1])
    assert (operation.operation, operation.desired_version) == ("set_limits", 3)


def test_a_purchase_that_is_decided_after_an_add_on_keeps_what_was_added(
    shop: Shop,
) -> None:
    shop.buy(access_line(days=30, traffic_bytes=GIB))
    shop.pay(access_line(days=30, traffic_bytes=2 * GIB))
    (late,) = shop.waiting(ORDER_FANOUT)
    shop.wait(days=1)
    shop.pay(addon=addon(traffic_bytes=9 * GIB))
    (soon,) = set(shop.waiting(ORDER_FANOUT)) - {late}
    shop.run(soon)

    shop.run(late)

    assert in_force(shop).traffic_bytes == 9 * GIB
    assert in_force(shop).ends_at == START + 2 * MONTH


def test_a_renewal_after_an_add_on_brings_its_own_limits_and_fulfils_both(
    shop: Shop,
) -> None:
    shop.buy(access_line(traffic_bytes=GIB))
    order = shop.pay(addon=addon(traffic_bytes=9 * GIB))
    shop.fan_out_all()
    added = shop.operations()[-1]
    renewed = shop.buy(access_line(traffic_bytes=GIB))

    assert shop.run(shop.job_of(added)) == Completed(result={"ended": "covered"})
    shop.run(shop.job_of(renewed))

    assert pushed(shop).traffic_bytes == GIB
    assert shop.log.is_fulfilled(order.id)


def test_a_downgrade_at_the_periods_end_comes_then_and_not_before(shop: Shop) -> None:
    shop.run(shop.job_of(shop.buy(access_line(days=30, device_limit=5))))
    downgrade = later(
        shop, access_line(days=30, device_limit=1), days=30, kind="downgrade"
    )

    waiting = shop.log.job(shop.job_of(downgrade))
    assert waiting.run_at == START + MONTH
    assert in_force(shop).device_limit == 5
    assert in_force(shop).ends_at == START + MONTH
    shop.wait(days=30)
    shop.run(shop.job_of(downgrade))

    assert pushed(shop).device_limit == 1
    assert pushed(shop).ends_at == START + 2 * MONTH
    assert not pushed(shop).reset_traffic
    order = shop.log.operation(downgrade).order
    assert shop.log.is_fulfilled(order)


def test_before_its_instant_the_panel_is_not_asked_and_nothing_is_written(
    shop: Shop,
) -> None:
    shop.run(shop.job_of(shop.buy()))
    downgrade = later(shop, days=30)
    asked, stored = len(shop.panel.asked), len(shop.log.events_of(downgrade))

    outcome = shop.run(shop.job_of(downgrade))

    assert outcome == Snooze(until=START + MONTH, cause="not_due")
    assert len(shop.panel.asked) == asked
    assert len(shop.log.events_of(downgrade)) == stored == 1


def test_what_comes_later_is_not_pushed_by_what_is_done_before(shop: Shop) -> None:
    first = shop.buy(access_line(days=30, device_limit=5))
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(first))
    later(shop, access_line(days=30, device_limit=1), days=30, kind="downgrade")

    shop.run(shop.job_of(first))

    assert shop.log.operation(first).stage is Stage.SUCCEEDED
    assert pushed(shop).device_limit == 5
    assert pushed(shop).ends_at == START + MONTH


def test_an_add_on_beside_a_planned_downgrade_changes_what_is_in_force(
    shop: Shop,
) -> None:
    shop.run(shop.job_of(shop.buy(access_line(days=30, device_limit=5))))
    downgrade = later(
        shop, access_line(days=30, device_limit=1), days=30, kind="downgrade"
    )

    added = add(shop, addon(days=7, device_limit=9))
    shop.run(shop.job_of(added))

    assert pushed(shop).device_limit == 9
    assert pushed(shop).ends_at == START + timedelta(days=37)
    shop.wait(days=30)
    shop.run(shop.job_of(downgrade))
    assert pushed(shop).device_limit == 1
    assert pushed(shop).ends_at == START + timedelta(days=67)


def test_an_upgrade_ends_a_planned_downgrade_and_keeps_its_days(shop: Shop) -> None:
    shop.run(shop.job_of(shop.buy(access_line(days=30, device_limit=5))))
    downgrade = later(
        shop, access_line(days=30, device_limit=1), days=30, kind="downgrade"
    )
    upgrade = shop.buy(access_line(days=30, device_limit=8))
    shop.run(shop.job_of(upgrade))
    assert pushed(shop).device_limit == 8
    assert pushed(shop).ends_at == START + timedelta(days=90)

    shop.wait(days=30)
    shop.run(shop.job_of(downgrade))

    assert shop.log.operation(downgrade).covered_by == upgrade.id
    assert shop.log.is_fulfilled(shop.log.operation(downgrade).order)
    assert pushed(shop).device_limit == 8


def test_a_later_order_that_is_decided_after_its_instant_is_due_at_once(
    shop: Shop,
) -> None:
    shop.buy(access_line(days=30, device_limit=5))
    shop.pay(access_line(days=30, device_limit=1), effective_at=shop.log.now + MONTH)
    shop.wait(days=31)

    shop.fan_out_all()

    operation = shop.operations()[-1]
    assert shop.log.operation(operation).effective_at == START + MONTH
    assert shop.log.job(shop.job_of(operation)).run_at == shop.log.now
    shop.run(shop.job_of(operation))
    assert pushed(shop).device_limit == 1
    assert pushed(shop).ends_at == START + timedelta(days=60)


def test_a_later_order_that_is_decided_after_a_later_payment_adds_its_days_at_once(
    shop: Shop,
) -> None:
    """It was overtaken: the limits are those of the payment that came last."""
    shop.buy(access_line(days=30, device_limit=5))
    shop.pay(access_line(days=30, device_limit=1), effective_at=shop.log.now + MONTH)
    (late,) = shop.waiting(ORDER_FANOUT)
    shop.wait(days=1)
    shop.pay(access_line(days=30, device_limit=8))
    (soon,) = set(shop.waiting(ORDER_FANOUT)) - {late}
    shop.run(soon)

    shop.run(late)

    assert in_force(shop).device_limit == 8
    assert in_force(shop).ends_at == START + timedelta(days=90)
    operation = shop.log.operation(shop.operations()[-1])
    assert operation.effective_at == START


def test_a_first_order_that_takes_effect_later_gives_access_then(shop: Shop) -> None:
    first = later(shop, access_line(days=30, device_limit=2), days=10)

    assert shop.panel.asked == []
    shop.wait(days=10)
    shop.run(shop.job_of(first))

    assert pushed(shop).device_limit == 2
    assert shop.log.is_fulfilled(shop.log.operation(first).order)


def test_a_planned_downgrade_that_is_refunded_takes_its_access_away(
    shop: Shop,
) -> None:
    """A refund of access ends access, also when its order has not come yet."""
    shop.run(shop.job_of(shop.buy(access_line(days=30, device_limit=5))))
    downgrade = later(shop, access_line(days=30), days=30, kind="downgrade")

    shop.run(shop.refund("o2"))
    shop.run(shop.job_of(shop.operations()[-1]))
    assert shop.panel.asked[-1][1].is_off
    shop.wait(days=30)
    shop.run(shop.job_of(downgrade))

    assert shop.panel.asked[-1][1].is_off
    assert not shop.log.is_fulfilled(shop.log.operation(downgrade).order)
