"""Every operation against a user in every state, and what it asks of the panel."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from application.ports import (
    Confirmed,
    Halted,
    Misconfigured,
    Rejected,
    Unavailable,
)
from domain.entitlement.state import Desired, truncated_to_ms
from infrastructure.providers.panel.conversation import MOST_REQUESTS
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.operations import OPERATIONS as KNOWN
from infrastructure.providers.panel.wire import PanelWire
from tests.providers.stage import (
    DESIRED,
    LEGACY,
    MAKING,
    OPERATIONS,
    OTHER_SQUAD,
    PUSHING,
    SQUAD,
    SWITCHING,
    TOKEN,
    UNKNOWN_SQUAD,
    USERNAME,
    ClosingGuard,
    OpenGuard,
    Stage,
    access_to,
    shown,
)

OFF = "DISABLED"
NOBODYS_ID = 4711

type Path = tuple[str, str]
"""The requests in short, and the status that is shown at the end."""

ON: dict[str, dict[str, Path]] = {
    "push": {
        "ACTIVE": ("PATCH", "ACTIVE"),
        "DISABLED": ("PATCH enable GET", "ACTIVE"),
        "EXPIRED": ("PATCH", "ACTIVE"),
        "LIMITED": ("PATCH", "ACTIVE"),
    },
    "switch": {
        "ACTIVE": ("GET", "ACTIVE"),
        "DISABLED": ("GET enable GET", "ACTIVE"),
        "EXPIRED": ("GET", "EXPIRED"),
        "LIMITED": ("GET", "LIMITED"),
    },
    "reset": {
        "ACTIVE": ("GET reset-traffic GET", "ACTIVE"),
        "DISABLED": ("GET reset-traffic enable GET", "ACTIVE"),
        "EXPIRED": ("GET reset-traffic GET", "EXPIRED"),
        "LIMITED": ("GET reset-traffic GET", "ACTIVE"),
    },
}
"""What becomes of a user who must not be off."""

TO_OFF: dict[str, dict[str, Path]] = {
    "push": {
        "ACTIVE": ("PATCH", OFF),
        "DISABLED": ("PATCH", OFF),
        "EXPIRED": ("PATCH disable GET", OFF),
        "LIMITED": ("PATCH disable GET", OFF),
    },
    "switch": {
        "ACTIVE": ("GET disable GET", OFF),
        "DISABLED": ("GET", OFF),
        "EXPIRED": ("GET disable GET", OFF),
        "LIMITED": ("GET disable GET", OFF),
    },
    "reset": {
        "ACTIVE": ("GET reset-traffic disable GET", OFF),
        "DISABLED": ("GET reset-traffic GET", OFF),
        "EXPIRED": ("GET reset-traffic disable GET", OFF),
        "LIMITED": ("GET reset-traffic disable GET", OFF),
    },
}
"""What becomes of a user who must be off."""


def family(operation: str) -> str:
    if operation in PUSHING:
        return "push"
    return "switch" if operation in SWITCHING else "reset"


def in_short(calls: list[str]) -> str:
    """Return the requests without ids and paths, an action by its name."""
    return " ".join(
        call.rsplit("/", 1)[1] if "/actions/" in call else call.split(" ", 1)[0]
        for call in calls
    )


def desired(**changes: object) -> Desired:
    return msgspec.structs.replace(DESIRED, **changes)


def ended() -> datetime:
    return datetime.now(UTC) - timedelta(days=1)


def just_ended() -> datetime:
    """Past by the panel's clock, and perhaps not by ours."""
    return datetime.now(UTC) - timedelta(hours=1, minutes=5)  # an hour is grace


def test_the_operations_of_these_tests_are_all_there_are() -> None:
    assert set(OPERATIONS) == set(KNOWN)


@pytest.mark.parametrize("is_off", [False, True], ids=["on", "off"])
@pytest.mark.parametrize("status", ["ACTIVE", "DISABLED", "EXPIRED", "LIMITED"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_leaves_its_user_as_its_access_stands(
    stage: Stage,
    operation: str,
    status: str,
    is_off: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    """Whatever the operation is called: late ones and repeats agree."""
    user_id = stage.born(status=status, trafficLimitBytes=100)

    answer = stage.carry_out(operation, is_off=is_off, panel_user_id=user_id)

    calls, end = (TO_OFF if is_off else ON)[family(operation)][status]
    assert in_short(stage.calls()) == calls
    assert isinstance(answer, Confirmed)
    assert answer.observed.status == end
    assert stage.user().status == end


@pytest.mark.parametrize("operation", PUSHING)
def test_what_pushes_pushes_everything(stage: Stage, operation: str) -> None:
    user_id = stage.born(activeInternalSquads=[OTHER_SQUAD], hwidDeviceLimit=9)
    wanted = desired(traffic_bytes=5000, device_limit=3, squad_ids=(SQUAD,))

    answer = stage.carry_out(operation, wanted, panel_user_id=user_id)

    user = stage.user()
    assert isinstance(answer, Confirmed)
    assert answer.observed.expire_at == truncated_to_ms(DESIRED.remote_expire_at)
    assert answer.squad_ids == (SQUAD,)
    assert user.expire_at == shown(DESIRED.remote_expire_at)
    assert (user.traffic_limit_bytes, user.hwid_device_limit) == (5000, 3)
    assert user.squads == (SQUAD,)


@pytest.mark.parametrize("operation", [*SWITCHING, "reset_traffic"])
def test_what_only_acts_leaves_the_rest_as_it_is(stage: Stage, operation: str) -> None:
    user_id = stage.born(activeInternalSquads=[OTHER_SQUAD], hwidDeviceLimit=9)
    before = stage.user()

    answer = stage.carry_out(
        operation, desired(device_limit=3), is_off=True, panel_user_id=user_id
    )

    assert isinstance(answer, Confirmed)
    assert answer.observed.device_limit == 9
    assert answer.squad_ids == (OTHER_SQUAD,)
    assert stage.user() == before._replace(status=OFF)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("known", [None, NOBODYS_ID])
def test_a_user_that_nobody_has(
    stage: Stage, operation: str, known: int | None
) -> None:
    answer = stage.carry_out(operation, panel_user_id=known, legacy=LEGACY)

    by_id = "PATCH" if operation in PUSHING else "GET"
    looks = [*([by_id] if known else []), "GET", "GET"]
    if operation in MAKING:
        assert in_short(stage.calls()) == " ".join([*looks, "POST"])
        assert isinstance(answer, Confirmed)
        assert stage.user().username == USERNAME
    else:
        assert in_short(stage.calls()) == " ".join(looks)
        assert isinstance(answer, Unavailable)
        assert answer.code == "remote_user_not_found"
        assert stage.panel.users() == []


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", [USERNAME, LEGACY])
@pytest.mark.parametrize("known", [None, NOBODYS_ID])
def test_a_user_whose_id_is_not_known_is_found_by_its_names(
    stage: Stage, operation: str, name: str, known: int | None
) -> None:
    user_id = stage.born(name)

    answer = stage.carry_out(operation, is_off=True, panel_user_id=known, legacy=LEGACY)

    assert isinstance(answer, Confirmed)
    assert answer.observed.panel_user_id == user_id
    assert stage.user().username == name
    assert stage.user().status == OFF


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_id_that_is_somebody_else_now_waits_for_a_person(
    stage: Stage, operation: str
) -> None:
    user_id = stage.born("somebody_else")

    answer = stage.carry_out(operation, is_off=True, panel_user_id=user_id)

    assert isinstance(answer, Misconfigured)
    assert answer.cause == "panel_configuration"
    if operation not in PUSHING:
        assert stage.user().status == "ACTIVE"
        assert in_short(stage.calls()) == "GET"


@pytest.mark.parametrize("operation", PUSHING)
def test_a_squad_that_the_panel_does_not_know(stage: Stage, operation: str) -> None:
    user_id = stage.born()
    before = stage.user()

    answer = stage.carry_out(
        operation, desired(squad_ids=(UNKNOWN_SQUAD,)), panel_user_id=user_id
    )

    assert stage.calls()[1:] == ["GET /api/internal-squads"]
    assert isinstance(answer, Rejected)
    assert answer.code == "unknown_squads"
    assert stage.user() == before


@pytest.mark.parametrize("operation", [*SWITCHING, "reset_traffic"])
def test_an_unknown_squad_does_not_stop_what_sends_none(
    stage: Stage, operation: str
) -> None:
    user_id = stage.born()

    answer = stage.carry_out(
        operation, desired(squad_ids=(UNKNOWN_SQUAD,)), panel_user_id=user_id
    )

    assert isinstance(answer, Confirmed)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_expiry_that_is_past_is_never_said_of_a_user_that_exists(
    stage: Stage, operation: str
) -> None:
    user_id = stage.born()
    before = stage.user().expire_at

    answer = stage.carry_out(
        operation, desired(ends_at=ended(), device_limit=3), panel_user_id=user_id
    )

    assert isinstance(answer, Confirmed)
    assert not any("expireAt" in row.body for row in stage.book())
    assert stage.user().expire_at == before
    assert stage.user().hwid_device_limit == (3 if operation in PUSHING else None)


@pytest.mark.parametrize("operation", PUSHING)
def test_an_expiry_that_is_past_by_the_panels_clock_is_left_out_after_all(
    stage: Stage, operation: str
) -> None:
    user_id = stage.born()

    answer = stage.carry_out(
        operation, desired(ends_at=just_ended(), device_limit=3), panel_user_id=user_id
    )

    assert in_short(stage.calls()) == "PATCH PATCH"
    assert [row.applied for row in stage.book()] == [False, True]
    assert isinstance(answer, Confirmed)
    assert stage.user().hwid_device_limit == 3


@pytest.mark.parametrize("operation", PUSHING)
def test_a_panel_whose_clock_is_wrong_keeps_no_paid_time(
    stage: Stage, operation: str
) -> None:
    """What is still ahead by the database's clock is never left out as past."""
    user_id = stage.born()
    stage.clock_is_ahead_by = -timedelta(days=2)

    answer = stage.carry_out(operation, desired(ends_at=ended()), panel_user_id=user_id)

    assert in_short(stage.calls()) == "PATCH"
    assert answer == Rejected(
        "expiry_in_past", "the panel refuses an expiry in the past"
    )


def test_a_worker_whose_clock_is_wrong_keeps_no_paid_time(stage: Stage) -> None:
    """S15: what is past is past by the database's clock, never by the machine's."""
    user_id = stage.born()
    wire = PanelWire(stage.panel.url, TOKEN)
    adapter = HttpPanel(wire, now=lambda: datetime.now(UTC) + timedelta(days=365))
    asked = desired(ends_at=datetime.now(UTC) + timedelta(days=60))

    answer = adapter.carry_out("extend", access_to(asked, user_id), "op.1", OpenGuard())
    adapter.close()

    assert isinstance(answer, Confirmed)
    assert answer.observed.expire_at == asked.remote_expire_at


@pytest.mark.parametrize("operation", MAKING)
def test_a_new_user_who_must_be_off_is_born_so(stage: Stage, operation: str) -> None:
    answer = stage.carry_out(operation, is_off=True)

    assert in_short(stage.calls()) == "GET POST"
    assert isinstance(answer, Confirmed)
    assert stage.user().status == OFF


def test_whoever_must_be_off_has_no_moment_of_access(stage: Stage) -> None:
    """A later expiry would revive an EXPIRED user; an attempt may end in between."""
    user_id = stage.born(status="EXPIRED")

    stage.carry_out("extend", is_off=True, panel_user_id=user_id)

    effects = [row.effect for row in stage.book() if row.effect is not None]
    assert [effect["after"]["status"] for effect in effects] == ["EXPIRED", OFF]


def test_traffic_is_reset_by_create_and_by_its_own_operation_alone(
    stage: Stage,
) -> None:
    user_id = stage.born()

    for operation in OPERATIONS:
        stage.carry_out(operation, desired(reset_traffic=True), panel_user_id=user_id)

    resets = [
        operation
        for attempt, operation in enumerate(OPERATIONS, start=1)
        if "reset-traffic" in in_short(stage.calls(attempt))
    ]
    assert resets == ["create", "reset_traffic"]


@pytest.mark.parametrize("known", [True, False])
def test_the_numbers_of_an_attempt_go_on_after_its_look(
    stage: Stage,
    known: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    user_id = stage.born()

    stage.carry_out(
        "reconcile", panel_user_id=user_id if known else None, requests_before=3
    )

    numbers = [row.request_id for row in stage.book()]
    assert numbers == [f"op.1.{n}" for n in range(4, 4 + len(numbers))]


def test_the_longest_reconcile_of_a_user_that_exists_fits_into_the_bound(
    stage: Stage,
) -> None:
    stage.born(LEGACY, status="DISABLED")
    looks = 3

    answer = stage.carry_out(
        "reconcile",
        desired(ends_at=just_ended()),
        panel_user_id=NOBODYS_ID,
        legacy=LEGACY,
        requests_before=looks,
    )

    assert isinstance(answer, Confirmed)
    assert looks + len(stage.book()) == MOST_REQUESTS


def test_no_request_goes_beyond_the_bound(stage: Stage) -> None:
    user_id = stage.born(status="DISABLED")

    answer = stage.carry_out(
        "reconcile", panel_user_id=user_id, requests_before=MOST_REQUESTS - 2
    )

    calls = [f"{row.method} {row.path}" for row in stage.book()]
    assert in_short(calls) == "PATCH enable"
    assert isinstance(answer, Unavailable)
    assert answer.code == "remnawave_unavailable"


@pytest.mark.parametrize("before", [0, 2])
def test_an_attempt_that_was_stopped_says_how_much_the_panel_was_asked(
    stage: Stage, before: int
) -> None:
    stage.born(status="DISABLED")

    answer = stage.carry_out("reconcile", guard=ClosingGuard(2), requests_before=before)

    assert isinstance(answer, Halted)
    assert answer.requests == before + 1


def test_a_user_whom_somebody_disabled_first_counts_as_disabled(stage: Stage) -> None:
    user_id = stage.born()
    disable = f"/api/users/{user_id}/actions/disable"

    with stage.meanwhile("POST", disable, lambda: stage.call("POST", disable)):
        answer = stage.carry_out("disable", is_off=True, panel_user_id=user_id)

    assert [row.error_code for row in stage.book()] == [None, "A029", None]
    assert isinstance(answer, Confirmed)


def test_a_user_whom_somebody_enables_meanwhile_is_no_success(stage: Stage) -> None:
    user_id = stage.born()
    actions = f"/api/users/{user_id}/actions"

    with stage.meanwhile(
        "POST",
        f"{actions}/disable",
        lambda: stage.call("POST", f"{actions}/enable"),
        when="after",
    ):
        answer = stage.carry_out("pause", is_off=True, panel_user_id=user_id)

    assert isinstance(answer, Unavailable)
    assert answer.code == "remnawave_mismatch"
    assert "status" in answer.detail


def test_a_user_who_vanishes_meanwhile_is_looked_for_again_later(stage: Stage) -> None:
    user_id = stage.born()
    path = f"/api/users/{user_id}"

    with stage.meanwhile(
        "POST", f"{path}/actions/disable", lambda: stage.call("DELETE", path)
    ):
        answer = stage.carry_out("disable", is_off=True, panel_user_id=user_id)

    assert isinstance(answer, Unavailable)
    assert answer.code == "remote_user_not_found"


def test_an_operation_that_does_not_exist_asks_nothing(stage: Stage) -> None:
    answer = stage.carry_out("delete")

    assert isinstance(answer, Rejected)
    assert answer.code == "unsupported_operation"
    assert stage.book() == []
