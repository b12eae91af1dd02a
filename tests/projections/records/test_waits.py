"""What waits for what: every reason for which an order is not delivered yet."""

import pytest

from projections.queries.records.orders import UNFULFILLED, OrderLine, OrderList
from projections.queries.records.waits import Wait
from projections.queries.records.waits_for import WaitsFor
from tests.projections.records.life import Life

pytestmark = pytest.mark.database


@pytest.fixture
def waits(lived: Life) -> dict[str, Wait]:
    """What the orders that are not delivered wait for, by the shop's ids."""
    page = OrderList(lived.lend)(UNFULFILLED)
    assert page.next is None
    return {line.order_id: waits_of(line) for line in page.items}


def waits_of(line: OrderLine) -> Wait:
    assert line.wait is not None
    return line.wait


def test_every_reason_is_told(waits: dict[str, Wait]) -> None:
    assert {order_id: wait.waits_for for order_id, wait in waits.items()} == {
        "cancelled": WaitsFor.NOTHING,
        "carried": WaitsFor.RETRY,
        "carrier": WaitsFor.RETRY,
        "enabled-later": WaitsFor.EFFECTIVE_AT,
        "fresh": WaitsFor.FAN_OUT,
        "gated": WaitsFor.PARKED,
        "later": WaitsFor.EFFECTIVE_AT,
        "nobody": WaitsFor.PERSON,
        "parked": WaitsFor.PARKED,
        "person": WaitsFor.PERSON,
        "retry": WaitsFor.RETRY,
        "running": WaitsFor.RUNNING,
        "turn": WaitsFor.TURN,
    }


def test_what_is_delivered_or_refunded_waits_for_nothing(lived: Life) -> None:
    page = OrderList(lived.lend)()

    done = {line.order_id: line.state for line in page.items if line.wait is None}
    assert {"ann": "fulfilled", "saver": "fulfilled"}.items() <= done.items()
    assert done["refunded"] == "refunded"
    assert "paid" not in done.values()


def test_a_covered_order_waits_for_the_operation_that_covers_it(
    lived: Life, waits: dict[str, Wait]
) -> None:
    carried, carrier = waits["carried"], waits["carrier"]

    assert carried.operation_id == carrier.operation_id == lived.operation("carrier")
    assert (carried.is_covered, carrier.is_covered) == (True, False)
    assert carried.job_id == carrier.job_id
    assert carried.next_attempt_at == carried.run_at


def test_a_wait_tells_the_job_and_when_it_is_due(waits: dict[str, Wait]) -> None:
    gated, parked, retry = waits["gated"], waits["parked"], waits["retry"]

    assert (gated.gate, gated.run_at) == ("panel", None)
    assert gated.parked_cause == "maintenance_active"
    assert parked.gate is None
    assert parked.parked_cause == "panel_credentials"
    assert parked.run_at is not None
    assert (retry.attempts, retry.code) == (1, "remnawave_http_502")
    assert retry.run_at == retry.next_attempt_at is not None


def test_a_wait_for_a_person_names_what_is_dead(waits: dict[str, Wait]) -> None:
    person, nobody = waits["person"], waits["nobody"]

    assert (person.operation_state, person.job_state) == ("failed", "discarded")
    # The order could not be decided at all.
    assert (nobody.operation_id, nobody.job_state) == (None, "discarded")
    assert nobody.code is not None
