"""Every accepted action is one event, with what it was before and after (I9)."""

from typing import Any

import pytest

from application.errors import VersionChangedError
from application.operators.cancel import cancel_job
from application.operators.instruction import instruct
from application.operators.target import Targets
from domain.operators.actions import CATEGORIES, category_of
from infrastructure.ids import new_id
from tests.fixtures.workers import enqueue
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = pytest.mark.database


def test_a_retried_operation_is_told_by_state_and_count(world: World) -> None:
    job, operation = bring(world, "discarded", SERVED)

    world.retry(str(operation), "the panel is back")

    ((action, category, kind, target, before, after, who, why, _, _),) = world.taken()
    assert (action, category) == ("panel.fulfillment.retried", "system")
    assert (kind, target) == ("operation", str(operation))
    assert (who, why) == ("ann", "the panel is back")
    assert states(before) == {"job": "discarded", "operation": "failed"}
    assert states(after) == {"job": "waiting", "operation": "pending"}
    assert [each["operation"]["attempts"] for each in (before, after)] == [1, 1]
    assert [each["job"]["attempt"] for each in (before, after)] == [1, 0]
    assert before["job"]["id"] == str(job)


def states(figures: dict[str, Any]) -> dict[str, str]:
    return {kind: each["state"] for kind, each in figures.items()}


def test_a_job_without_a_record_has_names_of_its_own(world: World) -> None:
    job, _ = bring(world, "discarded", GENERIC)

    world.retry(job)
    world.cancel(job)
    world.cancel(job)

    told = [(each[0], states(each[4]), states(each[5])) for each in world.taken()]
    assert told == [
        ("job.retried", {"job": "discarded"}, {"job": "waiting"}),
        ("job.cancelled", {"job": "waiting"}, {"job": "cancelled"}),
        ("job.cancelled", {"job": "cancelled"}, {"job": "cancelled"}),
    ]


def test_no_argument_of_a_job_is_in_its_record(world: World) -> None:
    """I12."""
    secret = {"n": 1, "secret": "canary"}
    job = enqueue(world.connection, GENERIC, args=secret, uniqueKey="canary-key")

    world.cancel(job)

    ((_, _, _, _, before, after, *_),) = world.taken()
    assert "canary" not in f"{before}{after}"


@pytest.mark.parametrize("n", [0, 1])
def test_what_has_changed_since_it_was_looked_at_is_left_alone(
    world: World, n: int
) -> None:
    """S30: whoever looks at an old page decides about nothing."""
    pair = bring(world, "due", SERVED)
    key = str(pair[n])
    cancel = cancel_job(
        Targets(world.streams, world.streams, world.kinds), world.units, new_id
    )

    with pytest.raises(VersionChangedError):
        cancel(key, instruct("bob", "not wanted"), versions=frozenset({7}))
    done = cancel(key, instruct("bob", "not wanted"), versions=frozenset({1}))

    assert done.events == ("job.cancelled", "fulfillment.cancelled")
    assert [each[2] for each in world.refusals()] == ["precondition_failed"]
    assert len(world.taken()) == 1


def test_an_action_is_of_one_of_two_categories() -> None:
    assert category_of("panel.fulfillment.cancelled") == CATEGORIES[0] == "system"
    assert category_of("panel.goods.review_resolved") == CATEGORIES[1] == "financial"
