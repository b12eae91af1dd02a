"""Operators' retries are intake; what follows from money taken is not."""

from functools import partial

import pytest

from application.errors import QuotaExceededError
from domain.jobs.outcome import Fail
from infrastructure.client import Client
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.limits.room import (
    ALL_FULL,
    TENANT_FULL,
    Connection,
    enqueue,
    limit,
    pending,
    refused,
    together,
)
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = pytest.mark.database


def order(number: int) -> dict[str, object]:
    return {
        "orderId": f"A-{number}",
        "customerId": "anna",
        "kind": "renewal",
        "currency": "EUR",
        "amountMinor": 1,
        "lines": [{"line": 1, "type": "access", "days": 30}],
    }


@pytest.mark.parametrize("kind", [GENERIC, SERVED])
def test_a_retry_needs_room_as_an_enqueue_does(world: World, kind: str) -> None:
    job, operation = bring(world, "discarded", kind)
    limit(world.connection, tenant=1)
    enqueue(world.connection, kind="another")

    with pytest.raises(QuotaExceededError) as caught:
        world.retry(operation or job)

    assert (caught.value.code, caught.value.retry_after_seconds) == (TENANT_FULL, 5)
    assert "COUNTERFOIL_JOB_MAX_TENANT_PENDING" in str(caught.value)
    assert world.state_of(job) == "discarded"
    ((action, target, code, *_),) = world.refusals()
    assert (action, target, code) == ("retry", str(operation or job), TENANT_FULL)

    world.connection.execute("DELETE FROM counterfoil.jobs WHERE kind = 'another'")
    assert "job.retried" in world.retry(operation or job).events
    assert world.state_of(job) == "waiting"


def test_a_retry_is_told_that_it_is_full_in_all(world: World) -> None:
    job, _ = bring(world, "discarded", GENERIC)
    limit(world.connection, in_all=1)
    enqueue(world.connection, tenant="another")

    with pytest.raises(QuotaExceededError) as caught:
        world.retry(job)

    assert caught.value.code == ALL_FULL
    assert "COUNTERFOIL_JOB_MAX_PENDING" in str(caught.value)


def test_retries_and_enqueues_at_once_fill_the_house_exactly(
    world: World, database: TestDatabase
) -> None:
    dead = [bring(world, "discarded", GENERIC)[0] for _ in range(6)]
    limit(world.connection, tenant=7)
    shops = [database.connect() for _ in range(6)]

    def retried(number: int) -> bool:
        try:
            world.retry(dead[number])
        except QuotaExceededError:
            return False
        return True

    def enqueued(shop: Connection) -> bool:
        return refused(partial(enqueue, shop)) is None

    let_in = together(
        [
            *(partial(retried, number) for number in range(6)),
            *(partial(enqueued, shop) for shop in shops),
        ]
    )

    assert let_in.count(True) == 7
    assert pending(world.connection) == 7


def test_who_cannot_find_out_is_told_to_come_back(
    world: World, database: TestDatabase
) -> None:
    job, _ = bring(world, "discarded", GENERIC)
    limit(world.connection, tenant=5)
    frozen = database.connect()
    frozen.execute(
        "SELECT pg_advisory_lock((hashtextextended('default', lock_space)"
        " & ~4294967295) + 17) FROM counterfoil.installation"
    )

    with pytest.raises(QuotaExceededError) as caught:
        world.retry(job)

    assert (caught.value.code, caught.value.retry_after_seconds) == (TENANT_FULL, 1)


def test_i1_money_taken_is_never_refused(world: World) -> None:
    """Settlement, fan-out and refund in a house that is more than full."""
    limit(world.connection, tenant=1, in_all=1)
    enqueue(world.connection)
    shop = Client(world.connection)

    operation, job = world.operation()
    shop.settle_order(order(2))
    shop.refund_order({"orderId": "A-2", "reason": "sent twice"})

    assert world.state_of(job) == "waiting"
    assert world.tags(operation)[0] == "fulfillment.requested"
    assert pending(world.connection) == 4
    assert refused(partial(enqueue, world.connection)) in {TENANT_FULL, ALL_FULL}


def test_what_an_operator_does_for_a_customer_is_never_refused(
    world: World, counterfoil: Command
) -> None:
    operation, job = world.operation("anna")
    claimed = world.claim(SERVED)
    world.start(operation)
    world.end(claimed, world.success(operation))
    limit(world.connection, tenant=1, in_all=1)
    enqueue(world.connection)

    asked = counterfoil(
        *("operate", "customer:anna", "reset_traffic", "--reason", "a kind gesture")
    )

    assert (asked.code, asked.err) == (0, "")
    assert pending(world.connection) == 2
    assert world.state_of(job) == "gone"


def test_a_job_that_fails_and_waits_again_needs_no_room(world: World) -> None:
    job, _ = bring(world, "after_failure", GENERIC)
    limit(world.connection, tenant=1)

    assert refused(partial(enqueue, world.connection)) == TENANT_FULL
    world.connection.execute("UPDATE counterfoil.jobs SET run_at = now()")
    world.end(world.claim(GENERIC), Fail(code="permanent"))

    assert world.state_of(job) == "discarded"
    assert refused(partial(enqueue, world.connection)) is None
