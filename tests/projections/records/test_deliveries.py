"""Goods in the read models: listed, in orders' waits, in histories and in letters."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from domain.goods.commands import Confirm
from domain.jobs.outcome import Fail
from infrastructure.postgres.database import Database
from projections.queries.all import Queries, queries_over
from projections.queries.attempts import HistoryFilter
from projections.queries.letters.filter import LetterFilter
from projections.queries.terms import Among, Asked
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_models_hold, project
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World, world

pytestmark = pytest.mark.database

__all__ = ["world"]


@pytest.fixture
def shop(world: World) -> Shop:
    return Shop(world)


class Desk:
    """Reads what was projected."""

    def __init__(self, pool: Database, database: TestDatabase) -> None:
        self.pool = pool
        self.database = database

    def queries(self) -> Queries:
        """Return the queries over read models that hold, and know everything."""
        project(self.pool, most=5)
        assert_read_models_hold(self.database.connect())
        return queries_over(self.pool.connection)


@pytest.fixture
def desk(database: TestDatabase) -> Iterator[Desk]:
    with Database(database.conninfo, pool_size=2) as pool:
        yield Desk(pool, database)


def test_what_needs_a_human_is_listed_and_a_letter_until_he_has_decided(
    shop: Shop, desk: Desk
) -> None:
    reviewed, decided = shop.review(), shop.review()
    failed = shop.owe()
    shop.world.end(shop.world.claim("goods_delivery"), Fail(code="permanent"))
    shop.owe()
    shop.decide(decided, "not_purchased", by="ann")

    queries = desk.queries()

    assert {row.stream_id for row in queries.deliveries().items} == {reviewed, failed}
    letters = queries.letters.page(LetterFilter(kinds=("goods_delivery",)))
    assert letters is not None
    assert {
        (each.stream_id, each.stream_kind, each.code, each.delivery.state)
        for each in letters.items
        if each.delivery is not None
    } == {
        (reviewed, "delivery", "gateway_unreachable", "needs_review"),
        (failed, "delivery", "permanent", "failed"),
    }
    (ended,) = queries.letters.ended(Asked()).items
    assert (ended.stream_id, ended.ended_how, ended.ended_by) == (
        decided,
        "decided",
        "ann",
    )
    causes = queries.letters.causes(LetterFilter()).causes
    assert {(each.kind, each.code, each.count.value) for each in causes} == {
        ("goods_delivery", "gateway_unreachable", 1),
        ("goods_delivery", "permanent", 1),
    }


def test_goods_that_failed_and_are_cancelled_are_no_letter(
    shop: Shop, desk: Desk
) -> None:
    failed = shop.owe()
    shop.world.end(shop.world.claim("goods_delivery"), Fail(code="permanent"))
    shop.world.cancel(failed)

    queries = desk.queries()

    assert queries.letters.causes(LetterFilter()).causes == ()
    (ended,) = queries.letters.ended(Asked()).items
    assert (ended.ended_how, ended.ended_by) == ("cancelled", "bob")


def test_a_history_tells_each_submission_with_what_came_of_it(
    shop: Shop, desk: Desk
) -> None:
    delivery = shop.review()
    shop.decide(delivery, "buy_again", by="ann")
    shop.submit(delivery)
    shop.tell(delivery, Confirm(decision=2, reference="T-1"))

    queries = desk.queries()

    history = queries.attempts(HistoryFilter(key=str(delivery)))
    assert history is not None
    assert history.of == "delivery"
    assert [
        (each.type.removeprefix("goods."), each.attempt, each.code, each.actor_type)
        for each in history.items
    ] == [
        ("owed", None, None, "worker"),
        ("purchase_submitted", 1, None, "worker"),
        ("purchase_unknown", None, "gateway_unreachable", "worker"),
        ("review_opened", None, "gateway_unreachable", "worker"),
        ("review_decided", None, "buy_again", "operator"),
        ("purchase_submitted", 2, None, "worker"),
        ("purchase_confirmed", None, None, "worker"),
        ("delivered", None, None, "worker"),
    ]
    audit = queries.audit(Asked(terms=(Among("target", (str(delivery),)),)))
    assert [
        (row.action, row.actor_id, row.reason, row.target_kind) for row in audit.items
    ] == [("panel.goods.review_resolved", "ann", "support case 12", "delivery")]


def test_the_jobs_of_a_delivery_are_found_by_it(shop: Shop, desk: Desk) -> None:
    delivery = shop.review()
    asked = shop.reconcile(delivery)
    shop.decide(delivery, "buy_again")

    jobs = desk.queries().jobs(Asked(terms=(Among("delivery", (delivery,)),)))

    assert {row.kind: row.stream_id for row in jobs.items}.keys() == {
        "goods_delivery",
        "goods_reconcile",
    }
    assert asked.job_id in {row.stream_id for row in jobs.items}


@pytest.mark.parametrize(
    ("bring", "waits_for"),
    [
        ("owed", "turn"),
        ("asked", "running"),
        ("review", "person"),
        ("delivered", "turn"),
    ],
)
def test_an_order_tells_what_its_goods_wait_for(
    shop: Shop, desk: Desk, bring: str, waits_for: str
) -> None:
    order = settled(shop)
    first = shop.owe(order=order, order_id="shop:1", line=2, has_job=False)
    if bring != "owed":
        shop.submit(first)
    if bring == "review":
        shop.lose(first)
    if bring == "delivered":
        shop.tell(first, Confirm(decision=1, reference=None))

    page = desk.queries().orders(Asked(terms=(Among("order", ("shop:1",)),)))

    (line,) = page.items
    assert line.wait is not None
    (goods,) = line.wait.goods
    assert (goods.delivery_id, goods.line) == (first, 2)
    assert line.wait.waits_for == waits_for
    assert (goods.waits_for is None) == (bring == "delivered")


def settled(shop: Shop) -> UUID:
    """Return a paid order whose operation has succeeded."""
    operation, _ = shop.world.operation()
    job = shop.world.claim("fulfillment")
    shop.world.start(operation)
    done = shop.world.success(operation)
    shop.world.end(job, done)
    ((order,),) = shop.world.connection.execute(
        "SELECT order_stream_id FROM counterfoil.operations WHERE stream_id = %s",
        (operation,),
    ).fetchall()
    assert isinstance(order, UUID)
    return order
