"""Items need room like any other retry; without it they wait, and then are refused."""

from datetime import timedelta

import pytest

from application.bulk.steer import START
from domain.jobs.outcome import Completed
from tests.bulk.stage import Stage, person
from tests.fixtures.workers import enqueue

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

LIMIT = 5


@pytest.fixture(autouse=True)
def limit(stage: Stage) -> None:
    stage.connection.execute(
        "UPDATE counterfoil.limits SET max_tenant_pending = %s", (LIMIT,)
    )


def full(stage: Stage) -> None:
    """Let as many jobs wait as may."""
    while stage.parts.items.room("default"):
        enqueue(stage.connection, "report", args={"n": 1})


def test_a_preview_tells_what_would_find_no_room(stage: Stage) -> None:
    dead = stage.dead(LIMIT) + stage.dead(2)

    bulk = stage.previewed(dead)

    # The bulk's own job is pending, too.
    assert stage.head(bulk)["verdicts"] == {"would_retry": LIMIT - 1, "over_quota": 3}


def test_an_item_without_room_waits_until_there_is_some(stage: Stage) -> None:
    """S31."""
    bulk = stage.previewed(stage.dead(2))
    full(stage)
    stage.steer(START, bulk, person())

    stage.work()

    assert stage.head(bulk)["n_done"] == 0
    assert stage.head(bulk)["no_room_since"] is not None
    assert stage.refused() == []
    stage.end(*[Completed()] * LIMIT)
    stage.database.advance(timedelta(seconds=11))
    stage.work()
    assert stage.head(bulk)["n_done"] == 2
    assert stage.head(bulk)["no_room_since"] is None


def test_an_item_that_finds_no_room_for_ten_minutes_is_refused(stage: Stage) -> None:
    bulk = stage.previewed(stage.dead(2))
    full(stage)
    stage.steer(START, bulk, person())
    stage.work()

    stage.database.advance(timedelta(minutes=10, seconds=1))
    stage.work()

    head = stage.head(bulk)
    assert (head["state"], head["n_refused"]) == ("finished", 2)
    assert {result for _, _, result in stage.items(bulk)} == {"tenant_pending_limit"}
