"""Each operation on its way to the panel, and with its answer lost on the way back."""

from datetime import timedelta

import pytest

from application.ports import Access, Misconfigured, Rejected, Unavailable
from domain.fulfillment.aggregate import Stage
from domain.fulfillment.events import AttemptStarted
from domain.jobs.outcome import Cancel, Completed, Fail, Retry
from domain.stream import Ref
from tests.application.shop import Shop, access_line

SQUAD = "11111111-1111-4111-8111-111111111111"
GIB = 2**30

lost = pytest.mark.parametrize("lost", [False, True], ids=["answered", "answer lost"])


@pytest.fixture
def shop() -> Shop:
    """A customer with 30 days and 1 GiB, as the panel shows it."""
    shop = Shop()
    shop.run(shop.job_of(shop.buy(access_line(traffic_bytes=GIB))))
    return shop


def carry_out(shop: Shop, operation: Ref, *, lost: bool) -> None:
    """Run an operation to its success; a lost answer costs an attempt more."""
    shop.panel.loses = int(lost)
    outcome = shop.run(shop.job_of(operation))
    assert isinstance(outcome, Retry) == lost
    if lost:
        shop.run(shop.job_of(operation))
    assert shop.log.operation(operation).stage is Stage.SUCCEEDED
    assert shop.log.operation(operation).attempts == 1 + lost


def asked(shop: Shop) -> list[str]:
    """Return the operations that the panel was asked for after the first `create`."""
    return shop.panel.operations[1:]


@lost
def test_extend_pushes_the_new_end(
    shop: Shop,
    lost: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    end = shop.log.now + timedelta(days=90)

    carry_out(shop, shop.operate("extend", endsAt=end.isoformat()), lost=lost)

    assert shop.user.observed.expire_at == end
    assert shop.entitlement.desired is not None
    assert shop.entitlement.desired.ends_at == end
    assert asked(shop) == ["extend"] * (1 + lost)


@lost
def test_set_limits_pushes_what_is_named_and_keeps_the_rest(
    shop: Shop,
    lost: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    carry_out(shop, shop.operate("set_limits", deviceLimit=5), lost=lost)

    assert shop.user.observed.device_limit == 5
    assert shop.user.observed.traffic_limit_bytes == GIB


@lost
def test_set_squads_replaces_them(
    shop: Shop,
    lost: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    carry_out(shop, shop.operate("set_squads", squadIds=[SQUAD]), lost=lost)

    assert shop.user.squad_ids == (SQUAD,)


@lost
@pytest.mark.parametrize(("off", "on"), [("pause", "resume"), ("disable", "enable")])
def test_off_and_on_again(
    shop: Shop,
    off: str,
    on: str,
    lost: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    carry_out(shop, shop.operate(off), lost=lost)
    assert shop.user.observed.status == "DISABLED"

    carry_out(shop, shop.operate(on), lost=lost)
    assert shop.user.observed.status == "ACTIVE"
    assert shop.entitlement.desired_version == 3


@lost
def test_resume_pushes_the_time_that_was_paused(
    shop: Shop,
    lost: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    before = shop.user.observed.expire_at
    carry_out(shop, shop.operate("pause"), lost=lost)
    shop.wait(days=7)

    carry_out(shop, shop.operate("resume"), lost=lost)

    assert shop.user.observed.expire_at == before + timedelta(days=7)


@lost
def test_reset_traffic_resets_without_a_change_of_what_is_owed(
    shop: Shop,
    lost: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    carry_out(shop, shop.operate("reset_traffic"), lost=lost)

    assert len(shop.panel.resets) == 1 + lost
    assert shop.user.observed.traffic_limit_bytes == GIB


@lost
def test_reconcile_moves_no_version_and_repairs(
    shop: Shop,
    lost: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    shop.panel.users.clear()

    carry_out(shop, shop.operate("reconcile"), lost=lost)

    assert shop.user.observed.traffic_limit_bytes == GIB
    assert shop.entitlement.desired_version == 1


def test_a_settlement_while_it_rests_keeps_it_off_and_counts_in_full(
    shop: Shop,
) -> None:
    end = shop.user.observed.expire_at
    shop.run(shop.job_of(shop.operate("pause")))
    shop.wait(days=10)

    shop.run(shop.job_of(shop.buy(access_line(days=30))))
    assert shop.user.observed.status == "DISABLED"

    shop.wait(days=5)
    shop.run(shop.job_of(shop.operate("resume")))
    assert shop.user.observed.status == "ACTIVE"
    assert shop.user.observed.expire_at == end + timedelta(days=15 + 30)


def test_a_settlement_ends_a_disabling(shop: Shop) -> None:
    shop.run(shop.job_of(shop.operate("disable")))

    shop.run(shop.job_of(shop.buy()))

    assert shop.user.observed.status == "ACTIVE"


def test_a_create_that_comes_back_from_backoff_undoes_nothing() -> None:
    """What is in force is pushed, and never what the operation was born with."""
    shop = Shop()
    first = shop.buy(access_line(traffic_bytes=GIB))
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(first))
    shop.operate("set_limits", trafficBytes=2 * GIB)

    shop.wait(minutes=1)
    shop.run(shop.job_of(first))

    assert shop.log.operation(first).stage is Stage.SUCCEEDED
    assert shop.user.observed.traffic_limit_bytes == 2 * GIB


def test_a_create_that_comes_back_after_a_pause_makes_a_user_that_is_off() -> None:
    shop = Shop()
    first = shop.buy()
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(first))
    pause = shop.operate("pause")
    shop.run(shop.job_of(pause))
    assert shop.log.operation(pause).code == "remote_user_not_found"

    shop.wait(minutes=1)
    shop.run_all()

    assert shop.user.observed.status == "DISABLED"
    assert shop.log.operation(pause).stage is Stage.SUCCEEDED


def test_only_a_create_resets_what_its_own_order_asked_for() -> None:
    shop = Shop()
    shop.run(shop.job_of(shop.buy()))
    renewal = shop.buy(access_line(reset_traffic=True))
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(renewal))

    shop.run(shop.job_of(shop.operate("set_limits", deviceLimit=1)))
    assert shop.panel.resets == []

    shop.wait(minutes=1)
    shop.run_all()
    assert len(shop.panel.resets) == 1


def test_a_reset_in_backoff_is_carried_by_the_create_that_covers_it(shop: Shop) -> None:
    reset = shop.operate("reset_traffic")
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(reset))
    renewal = shop.buy()

    shop.wait(minutes=1)
    shop.run_all()

    assert shop.log.operation(reset).covered_by == renewal.id
    assert len(shop.panel.resets) == 1


def test_an_order_that_was_covered_waits_for_a_create(shop: Shop) -> None:
    """What a `disable` confirms says nothing of what the orders have bought."""
    first, second = shop.buy(), shop.buy()
    shop.run(shop.job_of(first))
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(second))

    shop.run(shop.job_of(shop.operate("disable")))
    assert not shop.log.is_fulfilled(shop.log.operation(first).order)

    shop.wait(minutes=1)
    shop.run_all()
    assert shop.log.is_fulfilled(shop.log.operation(first).order)


def test_an_operation_that_nobody_knows_fails_unasked(shop: Shop) -> None:
    before = len(shop.panel.asked)
    operation = shop.operate("pause")
    shop.rename(operation, "levitate")

    outcome = shop.run(shop.job_of(operation))

    assert outcome == Fail(code="unsupported_operation")
    assert shop.log.operation(operation).code == "unsupported_operation"
    assert shop.log.job(shop.job_of(operation)).stage == "discarded"
    assert len(shop.panel.asked) == before


def test_the_calls_are_named_before_they_are_made(shop: Shop) -> None:
    names = {
        name: shop.operate(name, **parameters)
        for name, parameters in {
            "set_limits": {"deviceLimit": 1},
            "pause": {},
            "resume": {},
            "reset_traffic": {},
            "reconcile": {},
        }.items()
    }
    shop.run_all()

    started = {
        name: next(
            event.calls
            for event in shop.log.events_of(ref)
            if isinstance(event, AttemptStarted)
        )
        for name, ref in names.items()
    }
    assert started == {
        "set_limits": ("update",),
        "pause": ("find", "disable"),
        "resume": ("update", "enable"),
        "reset_traffic": ("find", "reset_traffic"),
        "reconcile": ("find", "update"),
    }


@pytest.mark.parametrize("name", ["disable", "reconcile", "reset_traffic"])
def test_a_hold_and_a_refusal_end_like_those_of_a_create(shop: Shop, name: str) -> None:
    operation = shop.operate(name)
    shop.panel.answers.append(Misconfigured("panel_credentials"))
    shop.run(shop.job_of(operation))
    assert shop.log.operation(operation).parked_cause == "panel_credentials"

    shop.panel.answers.append(Rejected("remnawave_http_400"))
    shop.run(shop.job_of(operation))
    assert shop.log.operation(operation).stage is Stage.FAILED


def test_an_operator_cancels_an_operation_and_the_next_one_runs(shop: Shop) -> None:
    pause = shop.operate("pause")
    shop.settle(shop.claim(shop.job_of(pause)), Cancel(code="operator"))

    outcome = shop.run(shop.job_of(shop.operate("reconcile")))

    assert isinstance(outcome, Completed)
    assert shop.user.observed.status == "DISABLED"


def test_the_panel_is_told_what_is_in_force_as_it_was_locked(shop: Shop) -> None:
    """A pause that is asked for meanwhile belongs to its own operation."""
    extend = shop.operate(
        "extend", endsAt=(shop.log.now + timedelta(days=90)).isoformat()
    )
    shop.panel.meanwhile = lambda: shop.operate("pause", "once")

    shop.run(shop.job_of(extend))

    access: Access = shop.panel.asked[-1][1]
    assert not access.is_off
    assert shop.log.operation(extend).stage is Stage.SUCCEEDED
