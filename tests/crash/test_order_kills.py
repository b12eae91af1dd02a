"""SIGKILL at every commit of an order with goods: owed, seen to be over, taken back.

The worker talks through a proxy, which keeps its COMMIT back or the answer to it; then
it is killed, and another one ends what it began.  No worker has a key ring, so nobody
buys: what becomes of a delivery, the test says.  Judge is the log.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from application.births import after_delivery
from application.unit import Group, Locked, Written, changed
from domain.event import Actor, Instant, Meta
from domain.goods import aggregate as deliveries
from domain.goods.state import GoodsDelivery
from domain.stream import Change, Ref, StreamKind
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.application.orders.purchases import CONFIRM, SUBMIT
from tests.crash.test_fulfillment_kills import ORDER, PAST_THE_LEASE, Scene, staged
from tests.fixtures.database import TestDatabase
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.proxy import Plan, Proxy
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

type Hold = Callable[[Proxy, str], Plan]

LINE = {
    "type": "goods",
    "provider": "starshop",
    "product": {"kind": "telegram_stars", "quantity": 50},
    "recipient": "anna_k",
    "costMinor": 75,
    "priceMinor": 99,
}
SALE = ORDER | {
    "lines": [
        {"line": 1, "type": "access", "days": 30},
        LINE | {"line": 2},
        LINE | {"line": 3},
    ]
}
FACTS = """
SELECT type, count(*) FROM counterfoil.events
 WHERE type LIKE 'goods.%' OR type LIKE 'order.%'
    OR type IN ('fulfillment.requested', 'fulfillment.succeeded')
 GROUP BY type
"""
BORN = """
SELECT data->>'kind', count(*) FROM counterfoil.events
 WHERE type = 'job.enqueued' GROUP BY 1
"""
OPEN = "SELECT kind FROM counterfoil.jobs WHERE kind <> 'goods_delivery'"
STATES = "SELECT state FROM counterfoil.deliveries ORDER BY line"


def before(proxy: Proxy, words: str) -> Plan:
    return proxy.hold_before_commit(of=words)


def after(proxy: Proxy, words: str) -> Plan:
    return proxy.hold_commit_answer(of=words)


@pytest.fixture
def scene(database: TestDatabase, tmp_path: Path) -> Iterator[Scene]:
    """An order of access and two lines of goods that nobody has decided yet."""
    with staged(database, tmp_path) as scene:
        with scene.connection() as connection:
            Client(connection).settle_order(SALE)
        yield scene


def killed_at(scene: Scene, proxy: Proxy, hold: Hold, words: str) -> None:
    """Let a worker come as far as a commit, and kill it there."""
    plan = hold(proxy, words)
    scene.start_worker(proxy.conninfo)
    plan.wait(40)
    scene.kill()
    proxy.close_all()
    scene.database.advance(PAST_THE_LEASE)


def worked_off(scene: Scene) -> None:
    """Let another worker do all that it can."""
    worker = scene.start_worker()
    until(lambda: scene.rows(OPEN) == [])
    worker.terminate()
    worker.wait(30)


def deliver_all(scene: Scene) -> None:
    """Let both lines be bought, in one transaction each."""
    with Database(scene.database.conninfo, pool_size=1) as pool:
        for (id_,) in scene.rows("SELECT stream_id FROM counterfoil.deliveries"):
            deliver(BatchStore(pool), Ref(StreamKind.DELIVERY, id_))


def deliver(store: BatchStore, ref: Ref) -> None:
    job = new_id()

    def decide(locked: Locked, now: Instant) -> tuple[Change, ...]:
        head = locked[ref]
        state = head.state
        assert isinstance(state, GoodsDelivery)
        submitted = deliveries.decide(state, SUBMIT)
        asked = deliveries.fold(submitted, state)
        events = submitted + deliveries.decide(asked, CONFIRM)
        change = changed(ref, head, events, deliveries.fold(events, state))
        return change, *after_delivery(lambda: job, change, now)

    meta = Meta(actor=Actor("worker", "test"), correlation_id="order:order-1")
    refs = (ref, Ref(StreamKind.JOB, job))
    (result,) = store.commit([Group(refs=refs, decide=decide, meta=meta)])
    assert isinstance(result, Written)


@pytest.mark.parametrize("hold", [before, after])
def test_killed_at_any_commit_of_its_way_an_order_is_owed_and_over_once(
    scene: Scene, proxy: Proxy, hold: Hold
) -> None:
    """I1, I2, I4: the fan-out, the success of the access, the end of the order."""
    killed_at(scene, proxy, hold, "goods.owed")
    killed_at(scene, proxy, hold, "fulfillment.succeeded")
    worked_off(scene)
    deliver_all(scene)
    killed_at(scene, proxy, hold, "order.fulfilled")
    worked_off(scene)

    assert dict(scene.rows(FACTS)) == {
        "order.paid": 1,
        "goods.owed": 2,
        "fulfillment.requested": 1,
        "fulfillment.succeeded": 1,
        "goods.purchase_submitted": 2,
        "goods.purchase_confirmed": 2,
        "goods.delivered": 2,
        "order.fulfilled": 1,
    }
    assert dict(scene.rows(BORN)) == {
        "order_fanout": 1,
        "fulfillment": 1,
        "goods_delivery": 2,
        "order_completion": 3,
    }
    assert len(scene.panel.users()) == 1
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)
        assert Client(connection).settle_order(SALE).replayed


@pytest.mark.parametrize("hold", [before, after])
def test_killed_at_the_commit_of_a_refund_goods_are_taken_back_once(
    scene: Scene, proxy: Proxy, hold: Hold
) -> None:
    worked_off(scene)
    with scene.connection() as connection:
        asked = {"orderId": "order-1", "lines": [2, 3], "reason": "charged back"}
        Client(connection).refund_order(asked)

    killed_at(scene, proxy, hold, "goods.cancelled")
    worked_off(scene)

    facts = dict(scene.rows(FACTS))
    assert (facts["goods.cancelled"], facts["order.refunded"]) == (2, 1)
    assert "order.fulfilled" not in facts
    assert scene.rows(STATES) == [("cancelled",), ("cancelled",)]
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)
