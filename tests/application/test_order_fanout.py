"""What a paid order owes, decided once."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.order_fanout import OrderFanoutArgs, owes_reset
from application.ports import OperationRow, Rejected, Unavailable
from domain.entitlement.state import Desired
from domain.fulfillment.aggregate import Stage
from domain.jobs.outcome import Completed, Fail
from domain.stream import Ref, StreamKind
from tests.application.memory import START, MemoryContext
from tests.application.shop import PREFIX, Shop, access_line

CUSTOMER = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.fixture
def shop() -> Shop:
    return Shop()


def desired(shop: Shop, operation: Ref) -> Desired:
    state = shop.log.operation(operation).desired
    assert state is not None
    return state


def entitlements(shop: Shop) -> list[Ref]:
    return [ref for ref in shop.log.heads if ref.kind is StreamKind.ENTITLEMENT]


def test_the_first_order_grants_access_and_asks_for_it(shop: Shop) -> None:
    order = shop.pay(access_line(days=30, grace_seconds=60, traffic_bytes=5))

    shop.fan_out_all()

    (owner,) = entitlements(shop)
    (operation,) = shop.operations()
    entitlement = shop.log.entitlement(owner)
    assert entitlement.username == PREFIX + owner.id.hex[-16:]
    assert entitlement.desired_version == 1
    state = shop.log.operation(operation)
    assert (state.entitlement, state.order) == (owner.id, order.id)
    assert state.operation == "create"
    assert state.idempotency_key == "order:o1:fulfill"
    assert state.desired == entitlement.desired
    assert desired(shop, operation).ends_at == START + timedelta(days=30)
    assert desired(shop, operation).grace_seconds == 60


def test_the_job_takes_its_turn_among_those_of_its_entitlement(shop: Shop) -> None:
    first, second = shop.buy(), shop.buy()

    jobs = [shop.log.job(shop.job_of(it)) for it in (first, second)]

    (owner,) = entitlements(shop)
    assert [job.serial_key for job in jobs] == [f"entitlement:{owner.id}"] * 2
    assert [job.serial_order for job in jobs] == [1, 2]
    assert {job.queue for job in jobs} == {"critical"}
    assert jobs[0].unique_key == f"fulfillment:{first.id}"


def test_a_job_is_never_due_before_it_is_born(shop: Shop) -> None:
    """Mechanisms 17: a claimer may have looked past the instant of settlement."""
    shop.pay()
    shop.wait(seconds=5)

    shop.fan_out_all()

    assert shop.log.job(shop.waiting()[0]).run_at == START + timedelta(seconds=5)


def test_days_count_from_the_settlement_and_not_from_the_job(shop: Shop) -> None:
    shop.pay(access_line(days=30))
    shop.wait(days=3)

    shop.fan_out_all()

    (operation,) = shop.operations()
    assert desired(shop, operation).ends_at == START + timedelta(days=30)
    assert shop.log.operation(operation).effective_at == START


def test_days_of_a_second_order_add_to_the_first(shop: Shop) -> None:
    shop.buy(access_line(days=30))
    shop.wait(days=10)

    second = shop.buy(access_line(days=5))

    assert desired(shop, second).ends_at == START + timedelta(days=35)
    assert len(entitlements(shop)) == 1


def test_an_instant_of_effect_is_kept(shop: Shop) -> None:
    due = START + timedelta(days=2)

    operation = shop.buy(effective_at=due)

    assert shop.log.operation(operation).effective_at == due
    assert shop.log.job(shop.job_of(operation)).run_at == due


def test_run_twice_it_decides_once(shop: Shop) -> None:
    """I5: the operation's key belongs to the order for ever."""
    order = shop.pay()
    shop.fan_out_all()
    context = MemoryContext(job_id=UUID(int=9), token=1)

    again = shop.fan_out(OrderFanoutArgs(order_stream_id=order.id), context)

    assert again == Completed(result={"owed": 0})


def test_customers_slots_and_tenants_have_entitlements_of_their_own(
    shop: Shop,
) -> None:
    shop.pay(customer="c1")
    shop.pay(customer="c2")
    shop.pay(customer="c1", slot=2)
    shop.pay(customer="c1", tenant="other")

    shop.fan_out_all()

    names = {shop.log.entitlement(ref).username for ref in entitlements(shop)}
    assert len(names) == 4


@pytest.mark.parametrize(
    ("customer", "slot", "legacy"),
    [
        (CUSTOMER, 1, "omniflow_0f8fad5bd9cb469f"),
        (CUSTOMER.upper(), 1, "omniflow_0f8fad5bd9cb469f"),
        (CUSTOMER, 2, None),
        ("c1", 1, None),
        (f"{{{CUSTOMER}}}", 1, None),
        (f"urn:uuid:{CUSTOMER}", 1, None),
    ],
)
def test_a_customer_of_the_earlier_product_is_looked_up_by_its_old_name(
    shop: Shop, customer: str, slot: int, legacy: str | None
) -> None:
    shop.pay(customer=customer, slot=slot)

    shop.fan_out_all()

    assert shop.log.entitlement(entitlements(shop)[0]).legacy_username == legacy


@pytest.mark.parametrize(
    ("customer", "tenant"),
    [(CUSTOMER, "other"), ("0f8fad5b-d9cb-469f-b165-70867728950e", "default")],
)
def test_an_old_name_is_one_customers_and_nobody_shares_its_user(
    shop: Shop, customer: str, tenant: str
) -> None:
    """Half of an id makes the name: another tenant may have it, or another customer."""
    shop.pay(customer=CUSTOMER)
    shop.pay(customer=customer, tenant=tenant)

    shop.fan_out_all()

    first, second = (shop.log.entitlement(ref) for ref in entitlements(shop))
    assert first.legacy_username == "omniflow_0f8fad5bd9cb469f"
    assert second.legacy_username is None


def test_an_order_that_is_not_there_is_a_dead_letter(shop: Shop) -> None:
    context = MemoryContext(job_id=UUID(int=9), token=1)

    outcome = shop.fan_out(OrderFanoutArgs(order_stream_id=UUID(int=8)), context)

    assert outcome == Fail(code="order_missing")


def test_a_reset_that_never_reached_the_panel_is_carried_on(shop: Shop) -> None:
    first = shop.buy(access_line(reset_traffic=True))
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(first))

    second = shop.buy(access_line(reset_traffic=False))

    assert desired(shop, second).reset_traffic
    shop.run(shop.job_of(second))
    third = shop.buy(access_line(reset_traffic=False))
    assert not desired(shop, third).reset_traffic


def test_the_reset_of_a_failed_operation_is_carried_on(shop: Shop) -> None:
    first = shop.buy(access_line(reset_traffic=True))
    shop.panel.answers.append(Rejected("remnawave_http_400"))
    shop.run(shop.job_of(first))

    second = shop.buy()

    assert desired(shop, second).reset_traffic


def test_a_reset_that_succeeded_is_not_repeated(shop: Shop) -> None:
    shop.run(shop.job_of(shop.buy(access_line(reset_traffic=True))))

    second = shop.buy()

    assert not desired(shop, second).reset_traffic


def row(version: int, state: Stage, *, reset: bool) -> OperationRow:
    return OperationRow(
        ref=Ref(StreamKind.OPERATION, UUID(int=version)),
        order=None,
        operation="create",
        desired_version=version,
        state=state,
        effective_at=START,
        reset_traffic=reset,
        covered_by=None,
        order_fulfilled=False,
    )


def test_only_a_success_that_carried_the_reset_ends_it() -> None:
    asked = row(1, Stage.FAILED, reset=True)

    assert owes_reset([asked])
    assert owes_reset([asked, row(2, Stage.CANCELLED, reset=True)])
    assert owes_reset([asked, row(2, Stage.SUCCEEDED, reset=False)])
    assert not owes_reset([asked, row(2, Stage.SUCCEEDED, reset=True)])
    assert owes_reset(
        [row(1, Stage.SUCCEEDED, reset=True), row(2, Stage.FAILED, reset=True)]
    )
    assert not owes_reset([])
