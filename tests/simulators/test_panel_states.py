"""How a user's status moves; each case is a fact of spec remnawave.md."""

import pytest

from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.stage import (
    ALPHA,
    FUTURE,
    NOON,
    PAST,
    SetClock,
    Users,
    failure,
    response,
)

SECOND_10, SECOND_30 = NOON, NOON + 20_000
SECOND_45, SECOND_60 = NOON + 35_000, NOON + 50_000


@pytest.mark.parametrize(
    ("status", "members", "after"),
    [
        # 1 #7: DISABLED is for ACTIVE users only, ACTIVE is an idempotent enable
        ("ACTIVE", {"status": "DISABLED"}, "DISABLED"),
        ("ACTIVE", {"status": "ACTIVE"}, "ACTIVE"),
        ("DISABLED", {"status": "DISABLED"}, "DISABLED"),
        ("DISABLED", {"status": "ACTIVE"}, "ACTIVE"),
        ("EXPIRED", {"status": "DISABLED"}, "EXPIRED"),
        ("LIMITED", {"status": "DISABLED"}, "LIMITED"),
        ("EXPIRED", {"status": "DISABLED", "expireAt": FUTURE}, "EXPIRED"),
        # 3 PATCH EXPIRED with future expireAt
        ("EXPIRED", {"expireAt": FUTURE}, "ACTIVE"),
        ("EXPIRED", {"expireAt": FUTURE, "status": "ACTIVE"}, "ACTIVE"),
        ("EXPIRED", {"trafficLimitBytes": 9000}, "EXPIRED"),
        ("EXPIRED", {"activeInternalSquads": [ALPHA]}, "EXPIRED"),
        # 1 #6: the limit is compared with the old limit, usage (5000) is not looked at
        ("LIMITED", {"trafficLimitBytes": 2000}, "ACTIVE"),
        ("LIMITED", {"trafficLimitBytes": 0}, "ACTIVE"),
        ("LIMITED", {"trafficLimitBytes": 1000}, "LIMITED"),
        ("LIMITED", {"trafficLimitBytes": 500}, "LIMITED"),
        ("LIMITED", {"expireAt": FUTURE}, "LIMITED"),
        # 3 DISABLED + PATCH expireAt/limit
        ("DISABLED", {"expireAt": FUTURE}, "DISABLED"),
        ("DISABLED", {"trafficLimitBytes": 9000}, "DISABLED"),
        # 3 PATCH absent fields
        ("ACTIVE", {"activeInternalSquads": []}, "ACTIVE"),
    ],
)
def test_patch_moves(
    users: Users, status: str, members: dict[str, object], after: str
) -> None:
    user = users.in_state(status)

    assert response(users.patch(id=user["id"], **members))["status"] == after


@pytest.mark.parametrize("status", ["DISABLED", "EXPIRED", "LIMITED"])
def test_enable_works_from(users: Users, status: str) -> None:
    """3 enable on EXPIRED or LIMITED."""
    user = users.in_state(status)

    assert response(users.act(user["id"], "enable"))["status"] == "ACTIVE"


@pytest.mark.parametrize("status", ["ACTIVE", "EXPIRED", "LIMITED"])
def test_disable_works_from(users: Users, status: str) -> None:
    """1 #7: POST disable works from every state."""
    user = users.in_state(status)

    assert response(users.act(user["id"], "disable"))["status"] == "DISABLED"


@pytest.mark.parametrize(
    ("status", "action", "code", "message"),
    [
        ("ACTIVE", "enable", "A030", "User already enabled"),
        ("DISABLED", "disable", "A029", "User already disabled"),
    ],
)
def test_an_action_that_is_done_already(
    users: Users, status: str, action: str, code: str, message: str
) -> None:
    """3 enable on ACTIVE / disable on DISABLED."""
    user = users.in_state(status)

    answer = users.act(user["id"], action)

    assert failure(answer) == (400, code)
    assert answer.json()["message"] == message


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ("ACTIVE", "ACTIVE"),
        ("DISABLED", "DISABLED"),
        ("LIMITED", "ACTIVE"),
        ("EXPIRED", "EXPIRED"),
    ],
)
def test_reset_traffic_moves(users: Users, status: str, after: str) -> None:
    """3 reset-traffic."""
    user = users.in_state(status)

    assert response(users.act(user["id"], "reset-traffic"))["status"] == after


@pytest.mark.parametrize("status", ["LIMITED", "DISABLED"])
def test_extend_keeps(users: Users, status: str) -> None:
    """3 extend."""
    user = users.in_state(status)
    path = f"/api/users/{user['id']}/actions/extend"

    extended = response(users.client.post(path, json={"days": 1}))

    assert extended["status"] == status


@pytest.mark.parametrize(
    ("status", "now", "after"),
    [
        # 1 #12 and 3 expireAt on create: access until the pass at second 30
        ("ACTIVE", SECOND_30 - 1, "ACTIVE"),
        ("ACTIVE", SECOND_30, "EXPIRED"),
        ("LIMITED", SECOND_30, "EXPIRED"),
        ("DISABLED", SECOND_30, "DISABLED"),
    ],
)
def test_the_expire_pass(
    users: Users, clock: SetClock, status: str, now: int, after: str
) -> None:
    user = users.born(expireAt=PAST, status=status)

    clock.now = now

    assert users.get(user["id"])["status"] == after


@pytest.mark.parametrize(
    ("used", "limit", "now", "after"),
    [
        (5000, 1000, SECOND_45 - 1, "ACTIVE"),
        (5000, 1000, SECOND_45, "LIMITED"),
        (1000, 1000, SECOND_60, "LIMITED"),  # 1 #12: used >= limit > 0
        (999, 1000, SECOND_60, "ACTIVE"),
        (5000, 0, SECOND_60, "ACTIVE"),
    ],
)
def test_the_limit_pass(
    users: Users, used: int, limit: int, now: int, after: str
) -> None:
    user = users.born(trafficLimitBytes=limit)
    users.panel.use_traffic(user["id"], used)

    users.clock.now = now

    assert users.get(user["id"])["status"] == after


@pytest.mark.parametrize("status", ["EXPIRED", "LIMITED"])
def test_enable_alone_does_not_last(users: Users, clock: SetClock, status: str) -> None:
    """3 enable on EXPIRED or LIMITED: back at the next pass."""
    user = users.in_state(status)
    users.act(user["id"], "enable")

    assert users.get(user["id"])["status"] == "ACTIVE"

    clock.now += 60_000

    assert users.get(user["id"])["status"] == status


def test_the_passes_need_no_request(
    panel: PanelSimulator, users: Users, clock: SetClock
) -> None:
    users.born(expireAt=PAST)
    clock.now = SECOND_30

    panel.pass_time()

    assert [user.status for user in panel.users()] == ["EXPIRED"]


@pytest.mark.parametrize(
    ("cause", "moved"),
    [
        ("patch", True),
        ("reset-traffic", True),
        ("enable", False),
        ("disable", False),
        ("squads", False),
        ("id", False),
    ],
)
def test_updated_at(users: Users, clock: SetClock, cause: str, moved: bool) -> None:  # noqa: FBT001 - a table's column
    """3 updatedAt: useless as a version."""
    born = users.born(status="DISABLED" if cause == "enable" else "ACTIVE")
    clock.now += 1

    match cause:
        case "patch":
            users.patch(id=born["id"], tag="T")
        case "squads":
            users.patch(id=born["id"], activeInternalSquads=[ALPHA])
        case "id":
            users.patch(id=born["id"])
        case action:
            users.act(born["id"], action)

    assert (users.get(born["id"])["updatedAt"] != born["updatedAt"]) is moved


@pytest.mark.parametrize(("status", "moved"), [("EXPIRED", True), ("LIMITED", False)])
def test_updated_at_after_a_pass(users: Users, status: str, moved: bool) -> None:  # noqa: FBT001 - a table's column
    """3 updatedAt."""
    user = users.in_state(status)

    assert (user["updatedAt"] != user["createdAt"]) is moved
