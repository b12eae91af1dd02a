"""Frozen, cut off, restarted: whoever leads no more writes nothing (I4, I7)."""

import os
import signal
from contextlib import closing
from functools import partial

import pytest

from infrastructure.postgres.database import connect
from tests.crash.projections.conftest import Scene, Start, enqueue_some
from tests.crash.projections.ledger import (
    assert_moved_once,
    keep_a_ledger,
    n_moves,
    who_moved,
)
from tests.crash.test_database_restart import OwnServer, own_server
from tests.fixtures.read_models import assert_read_models_hold
from tests.fixtures.workers import until
from tests.projecting.runner.here import runner_here
from tests.projecting.runner.seen import is_caught_up

__all__ = ["own_server"]

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

BATCH = "UPDATE counterfoil.checkpoints"


def test_one_that_wakes_after_its_time_writes_nothing(scene: Scene) -> None:
    scene.enqueue(100)
    sleeper = scene.start("sleeper", is_cut_off=True)
    sleeper.wait_leading()
    until(lambda: is_caught_up(scene.connection))
    plan = scene.proxy.hold_before_commit(of=BATCH)
    scene.enqueue(100)
    plan.wait()
    sleeper.freeze()
    # What the server does by itself to a transaction that sleeps for 10 s.
    scene.connection.execute(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'sleeper' AND state = 'idle in transaction'
        """
    )
    before = n_moves(scene.connection)

    scene.pass_their_time()
    with runner_here(scene.database, batch=40):
        until(lambda: is_caught_up(scene.connection))
        sleeper.thaw()
        sleeper.events.wait_for("projection left")
        scene.enqueue(50)
        scene.assert_all_is_well()
        assert {pid for pid, _ in scene.leaders()} == {os.getpid()}

    assert who_moved(scene.connection, after=before) == {"here"}
    assert sleeper.is_alive()


def test_two_that_take_turns_lead_one_at_a_time_and_write_once(scene: Scene) -> None:
    """Time runs out again and again, so both lead, in terms of their own."""
    both = [scene.start(name, batch=5) for name in ("one", "other")]
    for _ in range(5):
        scene.enqueue(40)
        enough = n_moves(scene.connection) + 3
        scene.pass_their_time()
        until(partial(has_moved, scene, enough))
    scene.assert_all_is_well()

    led = [
        {(each["projection"], each["term"]) for each in process.events.of(LED)}
        for process in both
    ]
    assert led[0].isdisjoint(led[1]), "one term, two leaders"
    assert all(process.is_alive() for process in both)


LED = "projection led"


def has_moved(scene: Scene, n: int) -> bool:
    """Return whether so many batches have been committed."""
    return n_moves(scene.connection) >= n


def test_restarts_of_the_database_are_survived(
    own_server: OwnServer, start: Start
) -> None:
    with closing(connect(own_server.uri)) as connection:
        keep_a_ledger(connection)
    both = [start(name, at=own_server.uri) for name in ("one", "other")]
    for how in (signal.SIGINT, signal.SIGQUIT):
        own_server.restart(how)
        with closing(connect(own_server.uri)) as connection:
            enqueue_some(connection, 60)
            until(partial(is_caught_up, connection))
            assert_moved_once(connection)
            assert_read_models_hold(connection)
    assert all(process.is_alive() for process in both)
