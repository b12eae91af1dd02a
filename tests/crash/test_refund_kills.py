"""SIGKILL at every commit of a refund's way to the panel (I1, I2, I4, I5).

The worker talks through a proxy, which keeps its COMMIT back or the answer to it; the
panel keeps a request or its answer.  Then the worker is killed, and another one ends
what it began.  Judges are the log, and the panel's own book.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infrastructure.client import Client
from infrastructure.simulators.panel.holds import When
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.crash.test_fulfillment_kills import PAST_THE_LEASE, TOKEN, Scene
from tests.fixtures.database import TestDatabase
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.proxy import Plan, Proxy
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

REFUND = {"orderId": "order-1", "reason": "charged back"}
FACTS = """
SELECT type, count(*) FROM counterfoil.events
 WHERE type IN ('order.refunded', 'entitlement.disabled', 'fulfillment.requested',
                'fulfillment.succeeded')
 GROUP BY type
"""


@pytest.fixture
def scene(database: TestDatabase, tmp_path: Path) -> Iterator[Scene]:
    """An order that is fulfilled, and whose refund is asked for."""
    with PanelSimulator(book=tmp_path / "panel.sqlite", token=TOKEN) as panel:
        scene = Scene(database, panel, tmp_path, [])
        try:
            scene.settle()
            worker = scene.start_worker()
            until(lambda: is_quiet(scene))
            worker.terminate()
            worker.wait(30)
            with scene.connection() as connection:
                Client(connection).refund_order(REFUND)
            yield scene
        finally:
            for worker in scene.workers:
                if worker.poll() is None:
                    worker.kill()
                worker.wait()


def is_quiet(scene: Scene) -> bool:
    return scene.rows("SELECT 1 FROM counterfoil.jobs") == []


def _at_a_commit(
    scene: Scene, proxy: Proxy, hold: Callable[[str], Plan], words: str
) -> None:
    plan = hold(words)
    scene.start_worker(proxy.conninfo)
    plan.wait(40)
    scene.kill()
    proxy.close_all()


def ended_by_another(scene: Scene) -> None:
    """Let another worker finish, and look at what both have left."""
    scene.database.advance(PAST_THE_LEASE)
    scene.start_worker()
    until(lambda: is_quiet(scene))

    assert scene.rows("SELECT state FROM counterfoil.orders") == [("refunded",)]
    assert dict(scene.rows(FACTS)) == {
        "order.refunded": 1,
        "entitlement.disabled": 1,
        "fulfillment.requested": 2,
        "fulfillment.succeeded": 2,
    }
    (user,) = scene.panel.users()
    assert user.status == "DISABLED"
    assert_every_request_is_of_an_attempt_on_record(scene)
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)
        assert Client(connection).refund_order(REFUND).replayed


def assert_every_request_is_of_an_attempt_on_record(scene: Scene) -> None:
    logged = {
        f"{operation}.{attempt}"
        for operation, attempt in scene.rows(
            """
            SELECT stream_id, data->>'attempt' FROM counterfoil.events
             WHERE type = 'fulfillment.attempt_started'
            """
        )
    }
    booked = {
        str(each.request_id).rpartition(".")[0]
        for each in scene.panel.book()
        if each.request_id
    }
    assert booked <= logged


COMMITS = [
    "order.refunded",
    "fulfillment.attempt_started",
    "fulfillment.succeeded",
]


@pytest.mark.parametrize("words", COMMITS)
def test_killed_before_a_commit_everything_is_decided_once(
    scene: Scene, proxy: Proxy, words: str
) -> None:
    _at_a_commit(scene, proxy, lambda of: proxy.hold_before_commit(of=of), words)

    ended_by_another(scene)


@pytest.mark.parametrize("words", COMMITS)
def test_killed_after_a_commit_nothing_is_decided_again(
    scene: Scene, proxy: Proxy, words: str
) -> None:
    _at_a_commit(scene, proxy, lambda of: proxy.hold_commit_answer(of=of), words)

    ended_by_another(scene)


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_the_panels_write_the_access_ends_all_the_same(
    scene: Scene, when: When
) -> None:
    hold = scene.panel.hold("POST", "/api/users/", when=when)
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    scene.kill()
    hold.release(drop=when == "after")

    ended_by_another(scene)


def test_killed_before_the_claim_commits_the_refund_is_decided_once(
    scene: Scene,
) -> None:
    with scene.blocked("LOCK TABLE counterfoil.events IN SHARE MODE"):
        scene.start_worker()
        until(scene.somebody_waits_for_a_lock)
        scene.kill()

    ended_by_another(scene)
