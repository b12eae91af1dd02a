"""Who may ask for how much, and what is no question at all."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from application.bulk.request import Wanted
from application.bulk.steer import APPROVE, START
from application.errors import ForbiddenError, NotFoundError, StateConflictError
from domain.access.permissions import EVERY, Permission
from domain.access.roles import Role
from domain.bulk.errors import SelfApprovalError
from domain.errors import InvalidRequestError
from infrastructure.ids import new_id
from tests.bulk.stage import Stage, person

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.mark.parametrize(
    ("wanted", "code", "path"),
    [
        ({"ids": ()}, "empty_filter", "target.ids"),
        ({"ids": None, "filter": ""}, "empty_filter", "target.filter"),
        ({"ids": None, "filter": " \n "}, "empty_filter", "target.filter"),
        ({"ids": None, "filter": "colour:red"}, "invalid_filter", "target.filter"),
        ({"ids": None}, "invalid_member", "target"),
        ({"filter": "kind:report"}, "invalid_member", "target"),
        ({"action": "explode"}, "invalid_member", "action"),
        ({"parameters": {"until": "noon"}}, "unknown_member", "parameters"),
        ({"items_per_second": 0.0}, "invalid_member", "itemsPerSecond"),
        ({"items_per_second": float("nan")}, "invalid_member", "itemsPerSecond"),
        ({"items_per_second": 1_001.0}, "invalid_member", "itemsPerSecond"),
    ],
)
def test_what_is_wrong_is_refused_on_record(
    stage: Stage, wanted: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        stage.ask([new_id()], **wanted)

    assert (refused.value.code, refused.value.path) == (code, path)
    action = wanted.get("action", "retry")
    assert stage.refused() == [("request_bulk", f"bulk:{action}", code)]
    assert stage.log() == ["operator.action_refused"]


def test_an_operator_asks_for_a_hundred_things_at_most(stage: Stage) -> None:
    def ask(count: int) -> None:
        ids = tuple(new_id() for _ in range(count))
        stage.request(Wanted(action="cancel", ids=ids), person(role=Role.OPERATOR))

    ask(100)
    with pytest.raises(InvalidRequestError, match="at most 100 things, not 101"):
        ask(101)


def test_more_than_a_thousand_things_need_another_persons_approval(
    stage: Stage,
) -> None:
    stage.request = replace(stage.request, most_unapproved=2)

    few = stage.previewed([new_id() for _ in range(2)])
    many = stage.previewed([new_id() for _ in range(3)])

    assert stage.head(few)["state"] == "ready"
    assert stage.head(many)["state"] == "awaiting_approval"
    with pytest.raises(StateConflictError, match="somebody else has to approve"):
        stage.steer(START, many, person())
    with pytest.raises(SelfApprovalError):
        stage.steer(APPROVE, many, person())
    with pytest.raises(ForbiddenError):
        stage.steer(APPROVE, many, person("ivan", Role.OPERATOR))
    assert stage.steer(APPROVE, many, person("boris")).state == "ready"
    assert stage.steer(START, many, person()).state == "running"


def test_a_hundred_thousand_things_are_the_most(stage: Stage) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        stage.ask([new_id() for _ in range(100_001)])

    assert refused.value.code == "bulk_limit"
    head = stage.head(stage.ask([new_id()]))
    assert (head["most_items"], head["most_unapproved"]) == (100_000, 1_000)


def test_a_thing_that_is_named_twice_is_one_item(stage: Stage) -> None:
    (job,) = stage.dead(1)

    bulk = stage.previewed([job, job])

    assert stage.items(bulk) == [(job, "would_retry", None)]


def test_what_nobody_knows_is_an_item_that_is_refused(stage: Stage) -> None:
    (job,), nobody = stage.dead(1), new_id()
    bulk = stage.previewed([nobody, job])

    stage.steer(START, bulk, person())
    stage.work()

    assert stage.items(bulk) == [
        (nobody, "not_found", "not_found"),
        (job, "would_retry", "done"),
    ]


@pytest.mark.parametrize(
    "missing", [Permission.BULK_WRITE, Permission.JOBS_WRITE], ids=str
)
def test_who_may_not_do_it_to_one_may_not_do_it_to_many(
    stage: Stage, missing: Permission
) -> None:
    weak = msgspec.structs.replace(person(), permissions=EVERY - {missing})

    with pytest.raises(ForbiddenError):
        stage.request(Wanted(action="retry", ids=(new_id(),)), weak)

    assert stage.refused() == [("request_bulk", "bulk:retry", "forbidden")]


def test_things_and_operations_of_another_tenant_do_not_exist(stage: Stage) -> None:
    theirs = stage.dead(1, tenant="other")
    stranger = msgspec.structs.replace(person(), tenant_id="third")

    bulk = stage.previewed(theirs)
    stage.steer(START, bulk, person())
    stage.work()

    assert stage.items(bulk) == [(theirs[0], "not_found", "not_found")]
    with pytest.raises(NotFoundError):
        stage.steer(START, bulk, stranger)
