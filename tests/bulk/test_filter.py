"""A filter is resolved once, at one moment; what happens later changes no target."""

import pytest

from application.bulk.steer import START
from tests.bulk.stage import Stage, person
from tests.fixtures.workers import enqueue

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

DEAD = "state:discarded kind:report"


def test_a_filter_means_what_fits_it_when_it_is_previewed(stage: Stage) -> None:
    dead = stage.dead(205)
    enqueue(stage.connection, "report", args={"n": 7})
    stage.follow()

    bulk = stage.ask([], ids=None, filter=f"  {DEAD} ")
    assert stage.head(bulk)["is_frozen"] is False
    stage.work()
    stage.dead(1)
    stage.follow()
    stage.steer(START, bulk, person())
    stage.work()

    head = stage.head(bulk)
    assert (head["filter"], head["items"], head["n_done"]) == (DEAD, 205, 205)
    assert head["position"] > 0
    assert [target for target, _, _ in stage.items(bulk)] == dead


def test_a_filter_that_nothing_fits_is_over_at_once(stage: Stage) -> None:
    bulk = stage.previewed([], ids=None, filter=DEAD)

    assert (stage.head(bulk)["state"], stage.head(bulk)["items"]) == ("ready", 0)
    stage.steer(START, bulk, person())
    stage.work()
    assert stage.head(bulk)["state"] == "finished"


def test_a_filter_of_more_than_may_be_is_cancelled(stage: Stage) -> None:
    stage.dead(101)
    stage.follow()

    bulk = stage.ask_as_operator(filter=DEAD)
    stage.work()

    assert (stage.head(bulk)["state"], stage.head(bulk)["code"]) == (
        "cancelled",
        "bulk_limit",
    )


def test_what_was_chosen_by_somebody_who_died_is_chosen_anew(stage: Stage) -> None:
    dead = stage.dead(3)
    stage.follow()
    bulk = stage.ask([], ids=None, filter=DEAD)
    stage.connection.execute(
        """
        INSERT INTO counterfoil.bulk_items (bulk_id, tenant_id, n, target_id)
        SELECT %s, 'default', n, gen_random_uuid() FROM generate_series(1, 7) n
        """,
        (bulk,),
    )

    stage.work()

    assert [target for target, _, _ in stage.items(bulk)] == dead
