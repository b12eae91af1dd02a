"""The history of a job, an operation, an order; and how many attempts there were."""

import pytest

from domain.errors import InvalidRequestError
from domain.jobs.outcome import Fail, Retry
from infrastructure.processor.identity import actor_of
from projections.queries.attempts import AttemptLine, HistoryFilter, TypeCount
from projections.queries.page import Count
from tests.operators.world import GENERIC, SERVED, World, bring, world
from tests.projections.letters.conftest import Office

__all__ = ["world"]

pytestmark = pytest.mark.database


def counts(told: tuple[TypeCount, ...]) -> dict[str, int]:
    """Return exact counts by type."""
    assert all(each.count.relation == "eq" for each in told)
    return {each.type: each.count.value for each in told}


def test_a_job_tells_every_change_with_who_and_when_oldest_first(
    world: World, office: Office
) -> None:
    job = world.report(maxAttempts=2, correlationId="mine")
    claimed = world.claim(GENERIC)
    world.end(claimed, Retry(code="http_502", not_before_seconds=0))
    world.connection.execute("UPDATE counterfoil.jobs SET run_at = counterfoil.now()")
    world.end(world.claim(GENERIC), Fail(code="http_422"))
    world.retry(job)
    office.catch_up()

    history = office.history(job)

    assert (history.of, history.next) == ("job", None)
    assert [line.type for line in history.items] == world.tags(job)
    assert [(line.status, line.attempt, line.code) for line in history.items] == [
        ("waiting", None, None),
        ("running", 1, None),
        ("waiting", 1, "http_502"),
        ("running", 2, None),
        ("discarded", 2, "permanent"),
        ("waiting", None, None),
    ]
    assert history.items[4].error_code == "http_422"
    assert [line.version for line in history.items] == [1, 2, 3, 4, 5, 6]
    assert {line.correlation_id for line in history.items} == {"mine"}
    assert history.items[1].token == history.items[2].token == claimed.token
    who = [(line.actor_type, line.actor_id) for line in history.items]
    assert who[0][0] == "shop"
    assert who[1] == who[2] == ("worker", actor_of(world.owner).id)
    assert who[5] == ("operator", "ann")
    assert counts(history.counts) == {
        "job.enqueued": 1,
        "job.claimed": 2,
        "job.attempt_failed": 1,
        "job.discarded": 1,
        "job.retried": 1,
    }
    assert history.as_of.position >= history.items[-1].position


def test_an_operation_tells_its_own_attempts(world: World, office: Office) -> None:
    _, operation = bring(world, "after_failure", SERVED)
    office.catch_up()

    history = office.history(operation)

    assert history.of == "operation"
    assert [(line.status, line.attempt, line.code) for line in history.items] == [
        ("pending", None, None),
        ("running", 1, None),
        ("retrying", 1, "http_502"),
    ]
    assert {line.stream_kind for line in history.items} == {"operation"}


def test_an_order_tells_all_that_belongs_to_it_by_its_own_id_and_by_ours(
    world: World, office: Office
) -> None:
    operation, job = world.operation(customer="ann")
    world.operation(customer="bob")
    world.end(world.claim(SERVED), Retry(code="http_502"))
    office.catch_up()
    (order, correlation) = world.connection.execute(
        "SELECT stream_id, correlation_id FROM counterfoil.orders"
        " WHERE order_id = 'shop:1'"
    ).fetchall()[0]

    by_shop, by_us = office.history("shop:1"), office.history(order)

    assert (by_shop.of, by_us.of) == ("order", "order")
    assert by_shop.items == by_us.items == office.history(correlation).items
    positions = [line.position for line in by_shop.items]
    assert positions == sorted(positions)
    streams = {line.stream_id for line in by_shop.items}
    assert {operation, job} < streams
    assert len(streams) == 3  # and the fan-out
    assert {line.correlation_id for line in by_shop.items} == {correlation}


def test_another_tenant_s_order_of_the_same_id_is_another_history(
    world: World, office: Office
) -> None:
    world.operation()
    office.catch_up()

    assert office.attempts(HistoryFilter(key="shop:1", tenant_id="other")) is None
    assert office.attempts(HistoryFilter(key="order:shop:1", tenant_id="other")) is None


def test_what_nobody_knows_has_no_history(office: Office) -> None:
    for key in (
        "",
        "never",
        "01a229c8-15d6-7b9a-a414-da3f4ad17f77",
        "x" * 5_000,
        "\0",
        "\ud800",
    ):
        assert office.attempts(HistoryFilter(key=key)) is None


@pytest.mark.parametrize("limit", [-1, 0, 201])
def test_a_page_of_no_size_is_refused(world: World, office: Office, limit: int) -> None:
    job = world.report()

    with pytest.raises(InvalidRequestError, match="limit"):
        office.history(job, limit=limit)


def test_what_is_not_read_yet_is_known_and_empty(world: World, office: Office) -> None:
    job = world.report()

    history = office.history(job)

    assert (history.of, history.items, history.counts) == ("job", (), ())
    assert history.as_of.position == 0


def test_pages_of_a_history_go_on_by_position(world: World, office: Office) -> None:
    bring(world, "discarded", SERVED)
    office.catch_up()
    whole = office.history("shop:1")

    pages: list[AttemptLine] = []
    after = 0
    while True:
        page = office.history("shop:1", after=after, limit=2)
        pages += page.items
        assert page.counts == whole.counts
        if page.next is None:
            break
        after = page.next

    assert tuple(pages) == whole.items
    assert len(pages) > 6


def test_all_attempts_are_counted_by_what_became_of_them(
    world: World, office: Office
) -> None:
    bring(world, "succeeded", GENERIC)
    bring(world, "discarded", GENERIC)
    bring(world, "succeeded", SERVED)
    world.report(tenant="other")
    office.catch_up()

    counted = counts(office.attempts.count().counts)

    assert counted == {
        "job.enqueued": 5,  # with the fan-out
        "job.claimed": 4,
        "job.succeeded": 3,
        "job.discarded": 1,
        "fulfillment.requested": 1,
        "fulfillment.attempt_started": 1,
        "fulfillment.succeeded": 1,
    }
    assert counts(office.attempts.count("other").counts) == {"job.enqueued": 1}
    with pytest.raises(InvalidRequestError, match="tenant: "):
        office.attempts.count("\0")
    assert counts(office.attempts.count(None, None).counts) == counted
    capped = {it.type: it.count for it in office.attempts.count(None, 3).counts}
    assert capped["job.claimed"] == Count(3, "gte")
    assert capped["job.succeeded"] == Count(3, "eq")
