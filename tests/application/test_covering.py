"""A later `create` carries the desired state of earlier ones of its entitlement."""

from datetime import timedelta

import pytest

from application.fulfillment.handler import ROUNDS
from application.ports import Misconfigured, Rejected, Unavailable
from domain.fulfillment.aggregate import Stage
from domain.jobs.outcome import Cancel, Completed, Snooze
from domain.stream import Ref, StreamKind
from tests.application.shop import Shop


@pytest.fixture
def shop() -> Shop:
    return Shop()


def is_fulfilled(shop: Shop, operation: Ref) -> bool:
    return shop.log.is_fulfilled(shop.log.operation(operation).order)


def fulfilled_by(shop: Shop, operation: Ref) -> Ref | None:
    order = shop.log.operation(operation).order
    assert order is not None
    by = shop.log.paid(Ref(StreamKind.ORDER, order)).fulfilled_by
    return None if by is None else Ref(StreamKind.OPERATION, by)


def test_a_pending_later_one_covers_and_its_success_fulfils_both_orders(
    shop: Shop,
) -> None:
    first, second = shop.buy(), shop.buy()

    outcome = shop.run(shop.job_of(first))

    assert isinstance(outcome, Completed)
    assert shop.panel.asked == []
    covered = shop.log.operation(first)
    assert (covered.stage, covered.code) == (Stage.CANCELLED, "covered_by")
    assert covered.covered_by == second.id
    assert covered.attempts == 0
    assert not is_fulfilled(shop, first)

    shop.run(shop.job_of(second))

    assert fulfilled_by(shop, first) == second
    assert fulfilled_by(shop, second) == second


def test_the_newest_of_several_is_named(shop: Shop) -> None:
    first, _, third = shop.buy(), shop.buy(), shop.buy()

    shop.run(shop.job_of(first))

    assert shop.log.operation(first).covered_by == third.id


@pytest.mark.parametrize(
    "answer",
    [Unavailable("remnawave_http_503"), Misconfigured("panel_credentials")],
)
def test_a_retrying_or_parked_one_covers(
    shop: Shop, answer: Unavailable | Misconfigured
) -> None:
    first, second = shop.buy(), shop.buy()
    shop.panel.answers.append(answer)
    shop.run(shop.job_of(second))

    shop.run(shop.job_of(first))

    assert shop.log.operation(first).covered_by == second.id


def test_a_later_version_does_not_wait_for_an_earlier_one_in_backoff(
    shop: Shop,
) -> None:
    first = shop.buy()
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(first))
    second = shop.buy()

    shop.run(shop.job_of(second))

    assert shop.log.operation(second).stage is Stage.SUCCEEDED
    # Not covered yet, so its order waits for its own turn …
    assert not is_fulfilled(shop, first)

    shop.run(shop.job_of(first))

    # … in which it is covered and fulfilled in one group.
    assert shop.log.operation(first).covered_by == second.id
    assert fulfilled_by(shop, first) == second
    assert len(shop.panel.asked) == 2


def test_one_that_has_succeeded_is_preferred_to_a_newer_open_one(shop: Shop) -> None:
    first = shop.buy()
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(first))
    second = shop.buy()
    shop.run(shop.job_of(second))
    shop.buy()

    shop.run(shop.job_of(first))

    assert shop.log.operation(first).covered_by == second.id
    assert fulfilled_by(shop, first) == second


def test_a_failed_one_covers_nobody(shop: Shop) -> None:
    first, second = shop.buy(), shop.buy()
    shop.panel.answers.append(Rejected("remnawave_http_400"))
    shop.run(shop.job_of(second))

    shop.run(shop.job_of(first))

    assert shop.log.operation(first).stage is Stage.SUCCEEDED
    assert fulfilled_by(shop, first) == first
    assert not is_fulfilled(shop, second)


def test_a_failed_one_ends_covered_when_it_is_retried(shop: Shop) -> None:
    first = shop.buy()
    shop.panel.answers.append(Rejected("remnawave_http_400"))
    shop.run(shop.job_of(first))
    second = shop.buy()
    shop.run(shop.job_of(second))
    assert shop.log.operation(first).stage is Stage.FAILED
    assert not is_fulfilled(shop, first)

    shop.revive(first)
    shop.run(shop.job_of(first))

    assert shop.log.operation(first).covered_by == second.id
    assert fulfilled_by(shop, first) == second


def test_one_whose_instant_has_not_come_covers_nobody_yet(shop: Shop) -> None:
    first = shop.buy()
    shop.buy(effective_at=shop.log.now + timedelta(days=1))

    shop.run(shop.job_of(first))

    assert shop.log.operation(first).stage is Stage.SUCCEEDED


def test_a_due_one_behind_one_that_is_not_due_covers(shop: Shop) -> None:
    first, second = shop.buy(), shop.buy()
    shop.buy(effective_at=shop.log.now + timedelta(days=1))

    shop.run(shop.job_of(first))

    assert shop.log.operation(first).covered_by == second.id


def test_the_orders_of_a_whole_chain_are_fulfilled_by_the_success_at_its_end(
    shop: Shop,
) -> None:
    operations = [shop.buy() for _ in range(5)]

    for operation in operations:
        shop.run(shop.job_of(operation))

    assert len(shop.panel.asked) == 1
    assert [fulfilled_by(shop, it) for it in operations] == [operations[-1]] * 5


def test_an_operation_that_a_person_cancelled_is_not_fulfilled_by_a_later_one(
    shop: Shop,
) -> None:
    first = shop.buy()
    shop.settle(shop.claim(shop.job_of(first)), Cancel(code="operator"))
    second = shop.buy()

    shop.run(shop.job_of(second))

    assert shop.log.operation(first).code == "operator"
    assert not is_fulfilled(shop, first)


def test_other_customers_and_slots_never_cover(shop: Shop) -> None:
    shop.pay(customer="c1")
    shop.pay(customer="c2")
    shop.pay(customer="c1", slot=2)
    shop.fan_out_all()

    for operation in shop.operations():
        shop.run(shop.job_of(operation))

    assert len(shop.panel.asked) == 3


def test_an_operation_born_after_the_list_was_read_covers_all_the_same(
    shop: Shop,
) -> None:
    """The entitlement's desired version, under its lock, tells that one is missing."""
    first = shop.buy()
    born: list[Ref] = []
    shop.log.after_reading.append(lambda: born.append(shop.buy()))

    shop.run(shop.job_of(first))

    assert [shop.log.operation(first).covered_by] == [ref.id for ref in born]


def test_a_list_that_is_outdated_every_time_gives_the_attempt_back(shop: Shop) -> None:
    first = shop.buy()
    shop.log.after_reading.extend([shop.buy] * ROUNDS)

    outcome = shop.run(shop.job_of(first))

    assert isinstance(outcome, Snooze)
    assert shop.log.operation(first).stage is Stage.PENDING
    assert shop.log.job(shop.job_of(first)).attempt == 0


@pytest.mark.parametrize("end", [Rejected("remnawave_http_400"), None])
def test_a_covering_one_that_ends_before_its_lock_is_judged_by_how_it_ended(
    shop: Shop, end: Rejected | None
) -> None:
    first, second = shop.buy(), shop.buy()
    if end is not None:
        shop.panel.answers.append(end)
    shop.log.after_reading.append(lambda: shop.run(shop.job_of(second)))

    shop.run(shop.job_of(first))

    # Failed, it covers nobody; succeeded, it fulfils the order in the same group.
    assert fulfilled_by(shop, first) == (first if end is not None else second)
