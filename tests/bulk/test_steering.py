"""Start, pause, resume and cancel: never an item twice, never one too many."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from application.bulk.steer import CANCEL, PAUSE, RESUME, START, Step
from application.errors import (
    NotFoundError,
    StateConflictError,
    VersionChangedError,
)
from infrastructure.ids import new_id
from tests.bulk.stage import Stage, person

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

SLOW = 1.5
"""Items a second; slow enough that each but the first has to wait, but not snooze."""


def after(stage: Stage, n: int, act: Callable[[], object]) -> Callable[[float], None]:
    """Return what sleeps by the database's clock, and does something at its n-th."""
    calls = iter(range(1, 1_000))

    def sleep(seconds: float) -> None:
        stage.database.advance(timedelta(seconds=seconds))
        if next(calls) == n:
            act()

    return sleep


def test_a_pause_lets_no_further_item_begin_and_a_resume_goes_on(stage: Stage) -> None:
    dead = stage.dead(6)
    bulk = stage.previewed(dead, items_per_second=SLOW)
    stage.steer(START, bulk, person())

    held = stage.claim()
    assert held is not None
    pause = after(stage, 2, lambda: stage.steer(PAUSE, bulk, person()))
    stage.run(held, sleep=pause)
    stage.work()

    head = stage.head(bulk)
    assert (head["state"], head["code"], head["n_done"]) == ("paused", "operator", 2)
    assert [stage.tags(job)[-1] == "job.retried" for job in dead] == (
        [True] * 2 + [False] * 4
    )
    stage.steer(RESUME, bulk, person())
    stage.work()
    assert stage.head(bulk)["state"] == "finished"
    assert [stage.tags(job).count("job.retried") for job in dead] == [1] * 6


def test_a_resume_before_the_job_has_ended_keeps_that_job(stage: Stage) -> None:
    bulk = stage.previewed(stage.dead(4), items_per_second=SLOW)
    stage.steer(START, bulk, person())
    held = stage.claim()
    assert held is not None

    def pause_and_resume() -> None:
        stage.steer(PAUSE, bulk, person())
        stage.run(held)  # it sees the pause, and would end
        stage.steer(RESUME, bulk, person())

    stage.steer(PAUSE, bulk, person())
    first = stage.head(bulk)["job"]
    stage.steer(RESUME, bulk, person())
    assert stage.head(bulk)["job"] == first
    pause_and_resume()
    stage.work()

    assert stage.head(bulk)["state"] == "finished"
    assert stage.head(bulk)["n_done"] == 4


def test_a_cancel_leaves_what_was_not_begun_and_says_how_many(stage: Stage) -> None:
    dead = stage.dead(5)
    bulk = stage.previewed(dead, items_per_second=SLOW)
    stage.steer(START, bulk, person())
    held = stage.claim()
    assert held is not None

    stage.run(held, sleep=after(stage, 3, lambda: stage.steer(CANCEL, bulk, person())))
    stage.work()

    assert stage.head(bulk)["state"] == "cancelled"
    said = stage.facts(bulk, "bulk.cancelled")
    assert said == [{"code": "operator", "done": 3, "refused": 0, "left": 2}]
    assert [stage.tags(job)[-1] for job in dead[3:]] == ["job.discarded"] * 2


@pytest.mark.parametrize("step", [PAUSE, RESUME], ids=lambda step: step.verb)
def test_what_makes_no_sense_at_its_stage_is_refused_on_record(
    stage: Stage, step: Step
) -> None:
    bulk = stage.previewed(stage.dead(1))

    with pytest.raises(StateConflictError) as refused:
        stage.steer(step, bulk, person())

    assert refused.value.state == "ready"
    assert refused.value.remedy == "start it"
    assert stage.refused() == [(f"{step.verb}_bulk", str(bulk), "state_conflict")]


def test_another_version_than_was_looked_at_is_refused(stage: Stage) -> None:
    bulk = stage.previewed(stage.dead(1))
    version = stage.head(bulk)["version"]

    with pytest.raises(VersionChangedError):
        stage.steer(START, bulk, person(), frozenset({version - 1}))
    stage.steer(START, bulk, person(), frozenset({version}))

    assert stage.head(bulk)["state"] == "running"


def test_nobody_knows_an_operation_that_is_not_there(stage: Stage) -> None:
    with pytest.raises(NotFoundError):
        stage.steer(START, new_id(), person())


def test_every_step_is_on_record_once(stage: Stage) -> None:
    """I9."""
    bulk = stage.previewed(stage.dead(1))
    stage.steer(START, bulk, person())
    stage.steer(START, bulk, person())
    stage.work()

    rows = stage.connection.execute(
        """
        SELECT data->>'action', data->'before'->'bulk'->>'state',
               data->'after'->'bulk'->>'state'
          FROM counterfoil.events
         WHERE type = 'operator.action_taken'
           AND data->>'target' = %s
         ORDER BY position
        """,
        (str(bulk),),
    ).fetchall()
    assert rows == [
        ("bulk.requested", None, "previewing"),
        ("bulk.started", "ready", "running"),
        ("bulk.started", "running", "running"),
    ]
