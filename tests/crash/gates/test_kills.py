"""SIGKILL at the commits of parking and unparking: parked once, due once, done once.

A worker is stopped at its COMMIT by a proxy, before or after it has happened, and
killed there; another one goes on.  Between claim and parking nothing is committed.
"""

from datetime import timedelta

import pytest

from tests.crash.test_fulfillment_kills import (
    PAST_THE_LEASE,
    Scene,
    _assert_delivered_once,
)
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

HELD = "SELECT gate, attempt FROM counterfoil.jobs WHERE gate IS NOT NULL"
SPENT = "SELECT attempts FROM counterfoil.operations"
both_sides = pytest.mark.parametrize("is_committed", [False, True])


def count(scene: Scene, tag: str) -> int:
    ((n,),) = scene.rows(
        f"SELECT count(*) FROM counterfoil.events WHERE type = '{tag}'"  # noqa: S608 - a tag
    )
    return int(n)


def kill_at(scene: Scene, proxy: Proxy, tag: str, *, is_committed: bool) -> None:
    """Let a worker come to the COMMIT of `tag`, and kill it before or after that."""
    hold = proxy.hold_commit_answer if is_committed else proxy.hold_before_commit
    plan = hold(of=tag)
    scene.start_worker(proxy.conninfo)
    plan.wait(60)
    scene.kill()
    proxy.close_all()


def assert_done_once(scene: Scene) -> None:
    until(lambda: scene.operation_is("succeeded"))
    _assert_delivered_once(scene)
    assert count(scene, "fulfillment.parked") == 1
    assert count(scene, "job.unparked") == 1


@both_sides
def test_who_is_killed_while_it_parks_has_parked_once_or_not_at_all(
    scene: Scene, proxy: Proxy, *, is_committed: bool
) -> None:
    """I3: whatever happens at a closed gate, no attempt is spent, nobody is asked."""
    scene.database.advance(timedelta(minutes=10))
    maintenance = Maintenance(scene.database)
    maintenance.begin()
    scene.settle()

    kill_at(scene, proxy, "job.parked", is_committed=is_committed)
    assert bool(scene.rows(HELD)) == is_committed
    scene.database.advance(PAST_THE_LEASE)
    scene.start_worker()
    until(lambda: scene.rows(HELD))

    assert scene.rows(HELD) == [("panel", 0)]
    assert scene.rows(SPENT) == [(0,)]
    assert scene.operation_is("retrying")
    assert scene.panel.book() == []
    assert (count(scene, "job.parked"), count(scene, "fulfillment.parked")) == (1, 1)
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)
    maintenance.end()
    assert_done_once(scene)
    assert scene.rows(SPENT) == [(1,)]


@both_sides
def test_who_is_killed_while_it_unparks_has_made_due_once_or_not_at_all(
    scene: Scene, proxy: Proxy, *, is_committed: bool
) -> None:
    scene.database.advance(timedelta(minutes=10))
    maintenance = Maintenance(scene.database)
    maintenance.begin()
    scene.settle()
    scene.start_worker()
    until(lambda: scene.rows(HELD))
    scene.kill()
    maintenance.end()

    kill_at(scene, proxy, "job.unparked", is_committed=is_committed)
    assert count(scene, "job.unparked") == int(is_committed)
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)
    scene.database.advance(PAST_THE_LEASE)
    scene.start_worker()

    assert_done_once(scene)
