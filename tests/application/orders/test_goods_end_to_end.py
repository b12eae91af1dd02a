"""Orders with goods over a real database, a simulated panel and a seller of goods."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from application.goods.pace import Pace
from application.goods.port import Rejected
from application.policies import (
    GOODS_DELIVERY,
    ORDER_COMPLETION,
    ORDER_FANOUT,
    ORDER_REFUND,
)
from domain.jobs.outcome import Completed, Fail
from infrastructure.client import Client
from infrastructure.goods.kinds import Goods
from infrastructure.processor.running import run
from infrastructure.processor.senders.identity import who_sends
from infrastructure.processor.settler import Ended
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.application.goods.counter import Open
from tests.application.goods.world import Seller
from tests.application.place import Place, placed
from tests.fixtures.database import TestDatabase

pytestmark = [
    pytest.mark.database,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]

ACCESS = {"line": 1, "type": "access", "days": 30}
REFUSED = Rejected("permanent", "gateway_rejected")
ORDERS = "SELECT order_id, state FROM counterfoil.orders ORDER BY order_id"
DELIVERIES = "SELECT line, state, purchases FROM counterfoil.deliveries ORDER BY line"
ENDS = """
SELECT type, data FROM counterfoil.events
 WHERE type IN ('order.fulfilled', 'order.refunded')
 ORDER BY position
"""
TOLD = "SELECT topic FROM counterfoil.outbox WHERE topic <> 'job.succeeded' ORDER BY id"


def goods(line: int, price: int = 40) -> dict[str, object]:
    return {
        "line": line,
        "type": "goods",
        "provider": "starshop",
        "product": {"kind": "telegram_stars", "quantity": 50},
        "recipient": "anna_k",
        "quantity": 2,
        "costMinor": 10,
        "priceMinor": price,
    }


@pytest.fixture
def seller() -> Seller:
    return Seller()


@pytest.fixture
def place(
    database: TestDatabase, panel: PanelSimulator, seller: Seller
) -> Iterator[Place]:
    """An installation whose jobs run when the test says so."""
    shop = Open(seller)
    sold = Goods(
        providers=shop, guards=shop, journal=shop, pace=Pace(), who_sends=who_sends
    )
    with placed(database, panel, sold) as place:
        yield place


def step(place: Place) -> str:
    """Run the one job that is due next; return its kind."""
    (held,) = place.parts.claim(1, queue="critical")
    place.parts.settle(held, run(held, place.parts.leases))
    return held.job.kind


def test_access_and_goods_of_one_order_are_delivered(
    place: Place, seller: Seller
) -> None:
    """I1, I2: one settlement, and everything of it, once."""
    place.settle("a", lines=[ACCESS, goods(2), goods(3)])

    place.work()

    ((_, data),) = place.rows(ENDS)
    ((operation,),) = place.rows("SELECT stream_id::text FROM counterfoil.operations")
    assert place.rows(ORDERS) == [("a", "fulfilled")]
    assert place.rows(DELIVERIES) == [(2, "delivered", 1), (3, "delivered", 1)]
    assert data == {"operation": operation}
    assert sorted(seller.ledger.values()) == [1, 1]
    assert place.user().status == "ACTIVE"
    told = [topic for (topic,) in place.rows(TOLD)]
    assert told == ["order.paid", *["goods.delivered"] * 2, "order.fulfilled"]
    assert place.rows("SELECT 1 FROM counterfoil.jobs") == []


def test_goods_that_cannot_be_had_give_back_what_was_paid(
    place: Place, seller: Seller
) -> None:
    seller.answers.extend([REFUSED, REFUSED])
    seller.buys.extend([False, False])
    place.settle("a", lines=[goods(1, 30), goods(2, 20)], discountMinor=25)

    place.work()

    ((tag, data),) = place.rows(ENDS)
    assert place.rows(ORDERS) == [("a", "refunded")]
    assert (tag, data["amount_minor"]) == ("order.refunded", 80)
    assert (data["lines"], data["reason"]) == ([1, 2], "goods_refunded")
    assert place.rows(
        "SELECT line, paid_minor, refunded_minor FROM counterfoil.deliveries ORDER BY 1"
    ) == [(1, 48, 48), (2, 32, 32)]


def test_two_deliveries_that_end_at_once_fulfil_their_order_once(
    place: Place,
) -> None:
    """Both jobs are settled by one transaction."""
    place.settle("a", lines=[goods(1), goods(2)])
    for kind in (ORDER_FANOUT, GOODS_DELIVERY, GOODS_DELIVERY):
        assert step(place) == kind
    claims = place.parts.claim(10, queue="critical")
    assert [held.job.kind for held in claims] == [ORDER_COMPLETION] * 2
    ended = [Ended(held, run(held, place.parts.leases)) for held in claims]

    place.parts.settler.settle(ended)

    assert place.rows(ORDERS) == [("a", "fulfilled")]
    assert len(place.rows(ENDS)) == 1
    assert place.rows("SELECT 1 FROM counterfoil.jobs") == []


def test_a_refund_before_anything_is_decided_leaves_the_rest_owed(
    place: Place,
) -> None:
    place.settle("a", lines=[ACCESS, goods(2), goods(3)])
    place.refund("a", lines=[1, 3])
    fanout, refund = place.parts.claim(2, queue="critical")
    place.parts.settle(refund, run(refund, place.parts.leases))

    place.parts.settle(fanout, run(fanout, place.parts.leases))
    place.work()

    assert place.rows(DELIVERIES) == [(2, "delivered", 1)]
    assert place.rows(ORDERS) == [("a", "refunded")]
    assert place.panel.users() == []


def test_a_purchase_that_is_submitted_before_its_refund_is_settled_stays(
    place: Place, seller: Seller
) -> None:
    place.settle("a", lines=[goods(1), goods(2)])
    assert step(place) == ORDER_FANOUT
    place.refund("a")
    purchase, refund = place.parts.claim(2, queue="critical")
    decided = run(refund, place.parts.leases)
    bought = run(purchase, place.parts.leases)
    place.parts.settle(refund, decided)
    place.parts.settle(purchase, bought)
    place.database.advance(timedelta(seconds=1))  # what lost a race waits a moment

    claims = {held.job.kind: held for held in place.parts.claim(9, queue="critical")}
    for kind in (ORDER_REFUND, GOODS_DELIVERY, ORDER_COMPLETION):
        place.parts.settle(claims[kind], run(claims[kind], place.parts.leases))
    place.work()

    # Both lines are due at once: either may have been bought first.
    ends = {
        end: line for line, *end_ in place.rows(DELIVERIES) for end in [tuple(end_)]
    }
    assert set(ends) == {("delivered", 1), ("cancelled", 0)}
    assert sum(seller.ledger.values()) == 1
    ((result,),) = place.rows(
        """
        SELECT s.data->'result' FROM counterfoil.events s
          JOIN counterfoil.events b ON b.stream_id = s.stream_id AND b.version = 1
         WHERE s.type = 'job.succeeded' AND b.data->>'kind' = 'order_refund'
        """
    )
    assert result["refunded"] == 1
    bought_line = ends["delivered", 1]
    assert [line["line"] for line in result["refused"]] == [bought_line]


def test_a_refund_that_is_settled_before_the_purchase_begins_leaves_nothing_bought(
    place: Place, seller: Seller
) -> None:
    place.settle("a", lines=[goods(1)])
    assert step(place) == ORDER_FANOUT
    place.refund("a")
    purchase, refund = place.parts.claim(2, queue="critical")
    place.parts.settle(refund, run(refund, place.parts.leases))

    ending = run(purchase, place.parts.leases)
    place.parts.settle(purchase, ending)
    place.work()

    assert isinstance(ending, Completed)
    assert place.rows(DELIVERIES) == [(1, "cancelled", 0)]
    assert seller.requests == []
    assert place.rows(ORDERS) == [("a", "refunded")]


def test_nobody_elses_fan_out_owes_goods_twice(place: Place) -> None:
    place.settle("a", lines=[goods(1)])
    ((order,),) = place.rows("SELECT stream_id::text FROM counterfoil.orders")
    client = Client(place.parts.connection)
    client.enqueue(ORDER_FANOUT, {"order_stream_id": order}, queue="critical")
    own, other = place.parts.claim(2, queue="critical")
    endings = [run(other, place.parts.leases), run(own, place.parts.leases)]

    for held, ending in zip((other, own), endings, strict=True):
        place.parts.settle(held, ending)
    place.work()

    assert endings[0] == Fail(code="not_its_job")
    assert place.rows(DELIVERIES) == [(1, "delivered", 1)]
    assert place.rows(ORDERS) == [("a", "fulfilled")]
