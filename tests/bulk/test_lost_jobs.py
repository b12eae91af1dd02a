"""The job of a bulk operation ends before its work is done, or somebody forges one."""

from datetime import timedelta

import pytest

from application.bulk.steer import RESUME, START
from infrastructure.ids import new_id
from tests.bulk.stage import Stage, person
from tests.fixtures.workers import enqueue, history

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def test_a_cancelled_job_pauses_its_operation_until_it_is_resumed(stage: Stage) -> None:
    bulk = stage.previewed(stage.dead(2))
    stage.steer(START, bulk, person())
    job = stage.head(bulk)["job"]

    stage.cancel(str(job), person())

    assert (stage.head(bulk)["state"], stage.head(bulk)["code"]) == (
        "paused",
        "operator",
    )
    stage.steer(RESUME, bulk, person())
    assert stage.head(bulk)["job"] != job
    stage.work()
    assert stage.head(bulk)["state"] == "finished"


def test_a_cancelled_preview_cancels_its_operation(stage: Stage) -> None:
    bulk = stage.ask(stage.dead(2))

    stage.cancel(str(stage.head(bulk)["job"]), person())

    assert stage.head(bulk)["state"] == "cancelled"


def test_a_holder_that_was_replaced_carries_nothing_out(stage: Stage) -> None:
    """I4."""
    dead = stage.dead(2)
    bulk = stage.previewed(dead)
    stage.steer(START, bulk, person())
    frozen = stage.claim()
    assert frozen is not None
    assert stage.rig.die() == 1
    stage.database.advance(timedelta(minutes=5))

    stage.run(frozen)

    assert stage.head(bulk)["n_done"] == 0
    assert [stage.tags(job)[-1] for job in dead] == ["job.discarded"] * 2
    stage.work()
    assert stage.head(bulk)["n_done"] == 2


def test_a_job_that_somebody_forged_does_nothing(stage: Stage) -> None:
    dead = stage.dead(1)
    bulk = stage.previewed(dead)
    forged = enqueue(
        stage.connection, "bulk_operation", args={"bulk_id": str(bulk)}, queue="bulk"
    )
    nobody = enqueue(
        stage.connection,
        "bulk_operation",
        args={"bulk_id": str(new_id())},
        queue="bulk",
    )

    stage.work()

    assert history(stage.connection, forged)[-1] == "discarded"
    assert history(stage.connection, nobody)[-1] == "cancelled"
    assert stage.head(bulk)["state"] == "ready"


def test_a_slice_that_is_over_gives_the_job_back_at_no_cost(stage: Stage) -> None:
    bulk = stage.previewed(stage.dead(5))
    stage.steer(START, bulk, person())
    held = stage.claim()
    assert held is not None
    ticks = iter([0.0, 1.0, 2.0, *[60.0] * 9])

    stage.run(held, clock=lambda: next(ticks))

    job = stage.head(bulk)["job"]
    assert stage.head(bulk)["n_done"] == 2
    assert history(stage.connection, job)[-1] == "snoozed"
    stage.work()
    assert stage.head(bulk)["n_done"] == 5
