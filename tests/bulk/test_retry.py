"""A bulk retry, from the question to the last item (S19)."""

from collections import Counter
from uuid import UUID

import pytest

from application.bulk.steer import START
from domain.jobs.outcome import Completed
from tests.bulk.stage import Stage, person
from tests.fixtures.workers import enqueue

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def brought_back(stage: Stage, jobs: list[UUID]) -> None:
    """Have dead jobs retried one by one, and let them succeed."""
    for job in jobs:
        stage.retry(str(job), person())
    stage.end(*[Completed()] * len(jobs))


def test_a_hundred_dead_jobs_of_which_some_cannot_be_retried(stage: Stage) -> None:
    """S19."""
    dead, others = stage.dead(97), stage.dead(3)
    brought_back(stage, dead[:2])
    for key in ("a", "b", "c"):
        dead += stage.dead(1, uniqueKey=key)
    for key in ("a", "b", "c"):
        enqueue(stage.connection, "report", args={"n": 7}, uniqueKey=key)

    bulk = stage.previewed(dead)

    head = stage.head(bulk)
    assert head["state"] == "ready"
    assert head["verdicts"] == {"would_retry": 95, "live_twin": 3, "succeeded": 2}

    stage.steer(START, bulk, person())
    stage.work()

    head = stage.head(bulk)
    assert (head["state"], head["n_done"], head["n_refused"]) == ("finished", 95, 5)
    results = Counter(result for _, _, result in stage.items(bulk))
    assert results == {"done": 95, "unique_job_active": 3, "state_conflict": 2}
    assert {stage.tags(job)[-1] for job in dead[2:97]} == {"job.retried"}
    assert {stage.tags(job)[-1] for job in others} == {"job.discarded"}


def test_what_is_started_again_changes_nothing_more(stage: Stage) -> None:
    bulk = stage.previewed(stage.dead(3))
    stage.steer(START, bulk, person())
    stage.work()
    before = stage.log()

    again = stage.steer(START, bulk, person())
    stage.work()

    assert again.events == ()
    assert again.state == "finished"
    assert stage.log()[len(before) :] == ["operator.action_taken"]
