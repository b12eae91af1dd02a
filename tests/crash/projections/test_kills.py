"""SIGKILL around every COMMIT of a process that projects (I7): before it, and after.

Whoever follows goes on where the dead one's last commit left it.
"""

import os

import pytest

from tests.crash.projections.conftest import Projecting, Scene
from tests.fixtures.proxy import Plan
from tests.projecting.poison import add
from tests.projecting.runner.here import runner_here

pytestmark = pytest.mark.crash

LEADERSHIP = "INSERT INTO counterfoil.leadership"
BATCH = "UPDATE counterfoil.checkpoints"
SET_ASIDE = "INSERT INTO counterfoil.projection_set_aside"

JOBS = 120

EITHER = pytest.mark.parametrize("moment", ["before", "after"])


def held(scene: Scene, moment: str, of: str) -> Plan:
    """Return the plan to hold back the next COMMIT of these words, or its answer."""
    hold = {
        "before": scene.proxy.hold_before_commit,
        "after": scene.proxy.hold_commit_answer,
    }
    return hold[moment](of=of)


def killed(victim: Projecting, plan: Plan) -> None:
    """End the victim at that moment."""
    plan.wait()
    victim.kill()


def succeed(scene: Scene, term: int = 2) -> None:
    """Let a successor finish; it leads in that term."""
    scene.pass_their_time()
    with runner_here(scene.database):
        scene.assert_all_is_well()
        assert scene.leaders() == {(os.getpid(), term)}


@EITHER
def test_killed_as_it_takes_its_roles(moment: str, scene: Scene) -> None:
    scene.enqueue(60)
    plan = held(scene, moment, LEADERSHIP)
    killed(scene.start("victim", is_cut_off=True), plan)

    succeed(scene, term=1 if moment == "before" else 2)


@EITHER
def test_killed_as_it_renews_its_roles(moment: str, scene: Scene) -> None:
    scene.enqueue(60)
    victim = scene.start("victim", is_cut_off=True)
    victim.wait_leading()
    killed(victim, held(scene, moment, LEADERSHIP))

    succeed(scene)


@EITHER
def test_killed_as_it_writes_a_batch(moment: str, scene: Scene) -> None:
    scene.enqueue(100)
    plan = held(scene, moment, BATCH)
    killed(scene.start("victim", is_cut_off=True), plan)

    succeed(scene)


@EITHER
def test_killed_as_it_sets_an_event_aside(moment: str, scene: Scene) -> None:
    scene.enqueue(JOBS // 2)
    poison = add(scene.connection, tag="job.dreamt")
    scene.enqueue(JOBS // 2)
    plan = held(scene, moment, SET_ASIDE)
    killed(scene.start("victim", is_cut_off=True), plan)

    succeed(scene)
    aside = scene.set_aside()
    assert aside["jobs"] == [poison]
    assert all(positions == [poison] for positions in aside.values())
    ((n,),) = scene.connection.execute(
        "SELECT count(*) FROM counterfoil.read_jobs_a"
    ).fetchall()
    assert n == JOBS
