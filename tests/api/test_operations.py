"""`operate` as a process: what it asks for, what it says, and what it refuses."""

from uuid import UUID

import pytest

from api.cli.timeline import details
from domain.event import Actor, Meta
from projections.log_event import LogEvent
from tests.api.command import Command
from tests.operators.world import World

SQUAD = "11111111-1111-4111-8111-111111111111"

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.fixture(autouse=True)
def operation(world: World) -> UUID:
    """The operation of a customer's first order."""
    return world.operation("anna")[0]


def desired(world: World) -> dict[str, object]:
    ((found,),) = world.connection.execute(
        "SELECT desired FROM counterfoil.entitlements"
    ).fetchall()
    return dict(found)


def test_a_pause_is_asked_for_in_one_sentence(
    counterfoil: Command, world: World
) -> None:
    result = counterfoil("operate", "customer:anna", "pause", "--reason", "on holiday")

    assert result.code == 0
    assert result.out.startswith("pause is asked for: operation 0")
    ((reason, actor),) = world.connection.execute(
        """
        SELECT meta->>'reason', meta->'actor'->>'id' FROM counterfoil.events
         WHERE type = 'entitlement.paused'
        """
    ).fetchall()
    assert (reason, actor) == ("on holiday", "ann")


def test_the_machine_is_told_everything_and_a_repetition_is_said(
    counterfoil: Command,
) -> None:
    line = ("operate", "customer:anna", "disable", "--key", "r1", "--reason", "asked")

    first = counterfoil(*line, "--json").document
    again = counterfoil(*line, "--json").document
    told = counterfoil(*line)

    assert set(first) == {
        "operationId",
        "jobId",
        "entitlementId",
        "operation",
        "state",
        "desiredVersion",
        "replayed",
        "position",
    }
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert again["operationId"] == first["operationId"]
    assert told.out.startswith("disable is asked for before, pending: operation")


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        (
            ("set_limits", "--traffic-bytes", "5", "--device-limit", "2"),
            {"traffic_bytes": 5, "device_limit": 2},
        ),
        (("set_limits", "--device-limit", "unlimited"), {"device_limit": None}),
        (
            ("extend", "--ends-at", "2099-01-31T12:00:00Z"),
            {"ends_at": "2099-01-31T12:00:00Z"},
        ),
        (
            ("set_squads", "--squad", SQUAD),
            {"squad_ids": [SQUAD]},
        ),
        (("set_squads", "--no-squads"), {"squad_ids": []}),
    ],
)
def test_each_option_is_the_member_that_it_names(
    counterfoil: Command,
    world: World,
    options: tuple[str, ...],
    changed: dict[str, object],
) -> None:
    before = desired(world)

    result = counterfoil("operate", "customer:anna", *options, "--reason", "asked")

    assert result.code == 0, result.err
    assert desired(world) == before | changed


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("levitate",), 2, "levitate"),
        (("set_limits", "--device-limit", "many"), 2, "neither a number"),
        (("set_limits",), 1, "deviceLimit or trafficBytes"),
        (("set_limits", "--device-limit", "0"), 1, "deviceLimit"),
        (("pause", "--no-squads"), 1, "squadIds"),
        (("set_squads", "--no-squads", "--squad", SQUAD), 2, "contradict each other"),
        (("resume",), 1, "is not_paused; only a pause is resumed"),
        (("extend", "--ends-at", "2020-01-01T00:00:00Z"), 1, "later than the present"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    counterfoil: Command, options: tuple[str, ...], code: int, said: str
) -> None:
    result = counterfoil("operate", "customer:anna", *options, "--reason", "asked")

    assert result.code == code
    assert said in result.complaint()


def test_nobody_has_no_access(counterfoil: Command, world: World) -> None:
    result = counterfoil("operate", "customer:bob", "pause", "--reason", "asked")

    assert result.code == 1
    assert result.complaint() == "there is no entitlement customer:bob"
    assert [row[:3] for row in world.refusals()] == [
        ("pause", "customer:bob", "not_found")
    ]


def test_why_tells_the_standing_and_what_is_known_to_differ(
    counterfoil: Command, world: World
) -> None:
    for operation in ("disable", "pause"):
        counterfoil("operate", "customer:anna", operation, "--reason", "asked")
    world.connection.execute(
        """
        UPDATE counterfoil.entitlements
           SET drifts = '[{"kind": "traffic", "expected": {}, "observed": {}}]',
               upcoming = '[{"effective_at": "2099-01-01T00:00:00Z"}]'
        """
    )

    told = counterfoil("why", "anna")
    (head,) = counterfoil("why", "anna", "--json").document["entitlements"]
    world.connection.execute(
        "UPDATE counterfoil.entitlements SET drifts = NULL, upcoming = NULL"
    )

    assert (
        ", changes 2099-01-01 00:00:00.000Z, paused, disabled; "
        "the panel has not shown it yet and differs in traffic\n"
    ) in told.out
    assert head["isDisabled"]
    assert head["pausedAt"]
    assert (head["changesAt"], head["drifts"]) == (
        ["2099-01-01T00:00:00Z"],
        ["traffic"],
    )


DRIFTS = [
    ({"value": 5}, {"value": None}, "expected 5, the panel shows none"),
    ({"exists": True}, {"exists": False}, "expected the user, the panel shows nobody"),
    (["a", "b"], [], "expected a, b, the panel shows none"),
    ("paused", "active", "expected paused, the panel shows active"),
]


@pytest.mark.parametrize(("expected", "observed", "words"), DRIFTS)
def test_a_drift_is_told_with_both_sides(
    operation: UUID, world: World, expected: object, observed: object, words: str
) -> None:
    ((now,),) = world.connection.execute("SELECT counterfoil.now()").fetchall()
    event = LogEvent(
        position=1,
        tenant_id="default",
        stream_id=operation,
        version=1,
        type="entitlement.drift_detected",
        schema=1,
        recorded_at=now,
        data={"kind": "traffic", "expected": expected, "observed": observed},
        meta=Meta(actor=Actor("worker", "w"), correlation_id="c"),
    )

    assert details(event) == f"traffic, {words}"
