"""Paused in the middle of a batch, which is killed there."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.api.command import Command
from tests.crash.projections.conftest import Scene
from tests.crash.projections.ledger import n_moves
from tests.fixtures.workers import until
from tests.projecting.runner.here import runner_here
from tests.projecting.runner.seen import is_caught_up

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

PAUSE = ("projections", "pause", "jobs", "--reason", "its table moves")
RESUME = ("projections", "resume", "jobs", "--reason", "it has moved")


@pytest.fixture
def operator(scene: Scene) -> Iterator[Command]:
    """`counterfoil` as an operator calls it."""
    url = scene.database.url
    command = Command(COUNTERFOIL_DATABASE_URL=url, COUNTERFOIL_OPERATOR="ann")
    try:
        yield command
    finally:
        command.close()


def standing(scene: Scene) -> tuple[bool, int]:
    """Return whether `jobs` is paused, and how many events say so."""
    (row,) = scene.connection.execute(
        """
        SELECT paused_at IS NOT NULL,
               (SELECT count(*)
                  FROM counterfoil.events
                 WHERE type = 'projection.paused')
          FROM counterfoil.projections WHERE name = 'jobs'
        """
    ).fetchall()
    return bool(row[0]), int(row[1])


def position(scene: Scene) -> int:
    rows = scene.connection.execute(
        """
        SELECT position FROM counterfoil.checkpoints
         WHERE name = 'jobs_a:counterfoil'
        """
    ).fetchall()
    return int(rows[0][0]) if rows else 0


def test_a_pause_waits_for_the_batch_that_is_written_and_nothing_comes_after_it(
    scene: Scene, operator: Command
) -> None:
    """The one that writes is killed; its successor writes the others' rows alone."""
    scene.enqueue(100)
    plan = scene.proxy.hold_before_commit(of='"read_jobs_a"')
    victim = scene.start("victim", is_cut_off=True)
    plan.wait()
    with ThreadPoolExecutor(1) as threads:
        paused = threads.submit(operator, *PAUSE)
        until(lambda: is_waited_for(scene))
        assert standing(scene) == (False, 0)
        victim.kill()
        assert paused.result().code == 0
    assert standing(scene) == (True, 1)
    before = position(scene)

    scene.pass_their_time()
    with runner_here(scene.database, batch=40) as events:
        events.wait_for("projection paused", projection="jobs")
        moved = n_moves(scene.connection)
        scene.enqueue(10)
        until(lambda: n_moves(scene.connection) > moved)
        assert position(scene) == before
        assert not is_caught_up(scene.connection)
        assert operator(*RESUME).code == 0
        scene.assert_all_is_well()


def is_waited_for(scene: Scene) -> bool:
    """Return whether somebody waits for a lock."""
    rows = scene.connection.execute(
        """
        SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'
        """
    )
    return rows.fetchone() is not None
