"""Read models advance one by one: a page over several tells the one furthest behind."""

import pytest

from projections.queries.records.operations import OperationList
from projections.queries.records.orders import OrderList
from projections.queries.records.related import EVERYTHING
from projections.queries.records.waits_for import WaitsFor
from projections.read_models.all import BY_NAME
from projections.reading import AtLeast
from tests.fixtures.read_models import live_slot, position_of, project
from tests.projections.records.life import Life

pytestmark = pytest.mark.database


def follow(life: Life, *names: str) -> None:
    project(life.place.parts.pool, [BY_NAME[name] for name in names])


def position(life: Life, name: str) -> int:
    projection = BY_NAME[name]
    slot = live_slot(life.connection, projection)
    return position_of(life.connection, projection, slot)


def test_an_order_is_listed_before_anything_is_known_of_its_work(
    lived_alone: Life,
) -> None:
    life = lived_alone
    life.buy("ann")
    follow(life, "orders")

    page = OrderList(life.lend)()

    assert page.as_of.position == 0
    assert [(it.order_id, it.state, it.wait) for it in page.items] == [
        ("ann", "fulfilled", None)
    ]


def test_an_order_that_is_behind_its_operation_says_so(lived_alone: Life) -> None:
    life = lived_alone
    life.settle("ann")
    life.project()
    before = position(life, "orders")
    life.place.work()
    follow(life, "operations", "jobs")

    page = OrderList(life.lend)()

    (line,) = page.items
    assert line.state == "paid"
    assert line.wait is not None
    assert line.wait.waits_for is WaitsFor.READ_MODEL
    assert page.as_of.position == before < position(life, "operations")


def test_an_operation_is_listed_before_its_customer_is_known(
    lived_alone: Life,
) -> None:
    life = lived_alone
    life.buy("ann")
    follow(life, "operations")

    (line,) = OperationList(life.lend)(EVERYTHING).items

    assert (line.state, line.customer_id, line.order_id) == ("succeeded", None, None)


def test_a_read_waits_for_the_read_model_that_is_furthest_behind(
    lived_alone: Life,
) -> None:
    life = lived_alone
    life.buy("ann")
    follow(life, "operations", "orders")
    wanted = position(life, "orders")
    asked: list[str] = []

    def wait(name: str, at: int) -> None:
        asked.append(name)
        assert at == wanted
        follow(life, name)

    page = OperationList(life.lend)(EVERYTHING, at_least=AtLeast(wanted, wait))

    assert "entitlements" in asked
    assert page.as_of.position == wanted
    assert [it.customer_id for it in page.items] == ["ann"]
