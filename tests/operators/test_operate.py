"""Operations that people ask for: one transaction, one operation a key, on record."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from application.errors import (
    NotFoundError,
    OperationKeyReusedError,
    StateConflictError,
)
from application.operators.instruction import instruct
from application.operators.operate import Operate, Operated, Wanted
from domain.entitlement.state import Entitlement
from domain.errors import InvalidRequestError
from domain.stream import Ref, StreamKind
from infrastructure.ids import new_id
from tests.operators.world import World

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.fixture
def entitlement(world: World) -> UUID:
    """The entitlement of the customer `ann`."""
    world.operation("ann")
    found = world.streams.entitlement_of("default", "ann", 1)
    assert found is not None
    return found[0].id


def ask(
    world: World,
    operation: str,
    key: str | None = None,
    entitlement: object = "customer:ann",
    /,
    **parameters: Any,  # noqa: ANN401 - JSON
) -> Operated:
    operate = Operate(world.streams, world.units, new_id)
    wanted = Wanted(
        entitlement=str(entitlement),
        operation=operation,
        parameters=parameters,
        key=key,
    )
    return operate(wanted, instruct("ann", "the customer asked"))


def state_of(world: World, entitlement: UUID) -> Entitlement:
    head = world.streams.head(Ref(StreamKind.ENTITLEMENT, entitlement))
    assert head is not None
    assert isinstance(head.state, Entitlement)
    return head.state


def test_the_desired_state_the_operation_and_its_job_are_one_transaction(
    world: World, entitlement: UUID
) -> None:
    operated = ask(world, "set_limits", "r1", trafficBytes=5, deviceLimit=None)

    desired = state_of(world, entitlement).desired
    assert desired is not None
    assert desired.traffic_bytes == 5
    assert not operated.replayed
    assert operated.desired_version == 2
    rows = world.connection.execute(
        """
        SELECT e.type, e.meta->>'correlation_id', e.meta->>'reason',
               e.meta->'actor'->>'id', e.meta->>'commit_id'
          FROM counterfoil.events e
         WHERE e.position <= %s
           AND e.type IN ('entitlement.desired_changed', 'fulfillment.requested',
                          'job.enqueued')
         ORDER BY e.position DESC LIMIT 3
        """,
        (operated.position,),
    ).fetchall()
    assert {row[0] for row in rows} == {
        "entitlement.desired_changed",
        "fulfillment.requested",
        "job.enqueued",
    }
    assert {row[1:4] for row in rows} == {("panel:r1", "the customer asked", "ann")}
    assert len({row[4] for row in rows}) == 1
    ((key,),) = world.connection.execute(
        "SELECT idempotency_key FROM counterfoil.operations WHERE stream_id = %s",
        (operated.operation_id,),
    ).fetchall()
    assert key == f"panel:{entitlement}:set_limits:r1"


@pytest.mark.usefixtures("entitlement")
def test_the_same_key_answers_the_operation_that_is_there(world: World) -> None:
    first = ask(world, "pause", "r1")

    again = ask(world, "pause", "r1")

    assert again.replayed
    assert (again.operation_id, again.job_id) == (first.operation_id, first.job_id)
    assert world.refusals() == []


@pytest.mark.usefixtures("entitlement")
def test_the_same_key_with_other_parameters_is_refused(world: World) -> None:
    ask(world, "set_limits", "r1", deviceLimit=2)
    assert ask(world, "set_limits", "r1", deviceLimit=2).replayed

    with pytest.raises(OperationKeyReusedError):
        ask(world, "set_limits", "r1", deviceLimit=3)

    assert [row[:3] for row in world.refusals()] == [
        ("set_limits", "customer:ann", "idempotency_key_reused")
    ]


def test_a_reconciliation_is_one_per_quarter_of_an_hour(
    world: World, entitlement: UUID
) -> None:
    first = ask(world, "reconcile")
    again = ask(world, "reconcile", None, entitlement)

    assert not first.replayed
    assert again.replayed
    assert again.operation_id == first.operation_id
    assert first.desired_version == 1
    ((key,),) = world.connection.execute(
        "SELECT idempotency_key FROM counterfoil.operations WHERE stream_id = %s",
        (first.operation_id,),
    ).fetchall()
    prefix, _, bucket = key.rpartition(f"{entitlement}:")
    assert prefix == "reconcile:"
    assert bucket[14:] in {"00:00Z", "15:00Z", "30:00Z", "45:00Z"}


@pytest.mark.usefixtures("entitlement")
def test_a_reconciliation_takes_no_key(world: World) -> None:
    with pytest.raises(InvalidRequestError, match="key"):
        ask(world, "reconcile", "r1")


@pytest.mark.parametrize(
    ("before", "operation", "stage"),
    [
        (("pause",), "pause", "paused"),
        ((), "resume", "not_paused"),
        (("pause",), "enable", "paused"),
        (("disable",), "disable", "disabled"),
    ],
)
def test_what_the_state_forbids_is_refused_and_on_record(
    world: World,
    entitlement: UUID,
    before: tuple[str, ...],
    operation: str,
    stage: str,
) -> None:
    for each in before:
        ask(world, each)

    with pytest.raises(StateConflictError) as refused:
        ask(world, operation)

    assert refused.value.state == stage
    assert refused.value.remedy
    assert state_of(world, entitlement).desired_version == 1 + len(before)
    assert [row[:3] for row in world.refusals()] == [
        (operation, "customer:ann", "state_conflict")
    ]


@pytest.mark.usefixtures("entitlement")
def test_an_end_that_is_no_later_is_refused_with_the_present_one(world: World) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        ask(world, "extend", endsAt="2020-01-01T00:00:00Z")

    assert (refused.value.code, refused.value.path) == ("ends_at_not_later", "endsAt")
    assert "later than the present end, 2" in refused.value.detail


@pytest.mark.usefixtures("entitlement")
@pytest.mark.parametrize(
    "key",
    [
        "customer:bob",
        "customer:ann:2",
        "ann",
        "01a229c8-15d6-7b9a-a414-da3f4ad17f77",
        "customer:",
    ],
)
def test_nobody_is_not_found(world: World, key: str) -> None:
    with pytest.raises(NotFoundError):
        ask(world, "pause", None, key)

    assert [row[:3] for row in world.refusals()] == [("pause", key, "not_found")]


@pytest.mark.usefixtures("entitlement")
@pytest.mark.parametrize("key", ["customer:ann", "customer:ann:1"])
def test_a_customer_is_told_with_or_without_the_slot(world: World, key: str) -> None:
    assert ask(world, "pause", None, key).operation == "pause"


@pytest.mark.parametrize("key", ["customer:tg:17", "customer:tg:17:1"])
def test_a_customer_whose_own_id_ends_in_digits_is_found(
    world: World, key: str
) -> None:
    world.operation("tg:17")

    assert ask(world, "pause", None, key).operation == "pause"


def test_a_customer_who_could_be_two_is_nobody_until_the_id_is_given(
    world: World, entitlement: UUID
) -> None:
    world.operation("ann:1")

    with pytest.raises(InvalidRequestError, match=str(entitlement)) as refused:
        ask(world, "disable", None, "customer:ann:1")

    assert refused.value.code == "ambiguous_customer"
    assert [row[2] for row in world.refusals()] == ["ambiguous_customer"]
    asked = ask(world, "disable", None, entitlement)
    assert asked.entitlement_id == entitlement


@pytest.mark.usefixtures("entitlement")
@pytest.mark.parametrize(
    ("operation", "parameters", "code"),
    [
        ("create", {}, "unsupported_operation"),
        ("levitate", {}, "unsupported_operation"),
        ("set_limits", {"deviceLimit": 0}, "invalid_member"),
    ],
)
def test_what_is_wrong_is_refused_and_on_record(
    world: World, operation: str, parameters: dict[str, object], code: str
) -> None:
    with pytest.raises(InvalidRequestError):
        ask(world, operation, **parameters)

    # What is counted by: a name of ours, whatever was asked for.
    action = "operation.requested" if code == "unsupported_operation" else operation
    assert [(row[0], row[2]) for row in world.refusals()] == [(action, code)]


def test_two_people_with_one_key_at_once_get_one_operation(
    world: World, entitlement: UUID
) -> None:
    together = threading.Barrier(4)

    def one(_: int) -> Operated:
        together.wait(10)
        return ask(world, "set_limits", "r1", deviceLimit=2)

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(one, range(4)))

    assert len({each.operation_id for each in answers}) == 1
    assert sorted(each.replayed for each in answers) == [False, True, True, True]
    assert state_of(world, entitlement).desired_version == 2


def test_two_people_with_keys_of_their_own_take_their_turns(
    world: World, entitlement: UUID
) -> None:
    together = threading.Barrier(4)

    def one(number: int) -> Operated:
        together.wait(10)
        return ask(world, "set_limits", deviceLimit=number + 1)

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(one, range(4)))

    assert sorted(each.desired_version for each in answers) == [2, 3, 4, 5]
    last = max(answers, key=lambda each: each.desired_version)
    desired = state_of(world, entitlement).desired
    assert desired is not None
    ((limit,),) = world.connection.execute(
        """
        SELECT desired->>'device_limit' FROM counterfoil.operations
         WHERE stream_id = %s
        """,
        (last.operation_id,),
    ).fetchall()
    assert desired.device_limit == int(limit)
