"""What the calls on users answer; each case is a fact of spec remnawave.md.

"3 x" is the line `x` of its section 3, "1 #n" a numbered correction of section 1.
"""

from typing import Any

import httpx
import pytest

from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.stage import (
    ALPHA,
    BETA,
    FUTURE,
    NOON,
    PAST,
    UNKNOWN,
    SetClock,
    Users,
    failure,
    response,
)

LATER = "2031-01-01T00:00:00.000Z"


def test_a_minimal_create_answers_the_defaults(users: Users) -> None:
    """3 POST, minimal."""
    answer = users.client.post(
        "/api/users", json={"username": "bob", "expireAt": FUTURE}
    )
    user = response(answer)

    assert answer.status_code == 201
    assert len(user) == 24
    assert user == users.get(user["id"])
    assert type(user["id"]) is int
    assert user["createdAt"] == user["updatedAt"] == "2027-01-15T08:00:10.000Z"
    expected = {
        "username": "bob",
        "status": "ACTIVE",
        "trafficLimitBytes": 0,
        "trafficLimitStrategy": "NO_RESET",
        "expireAt": FUTURE,
        "hwidDeviceLimit": None,
        "activeInternalSquads": [],
        "telegramId": None,
        "email": None,
        "description": None,
        "tag": None,
        "externalSquadUuid": None,
        "lastTriggeredThreshold": 0,
        "userTraffic": {
            "usedTrafficBytes": 0,
            "lifetimeUsedTrafficBytes": 0,
            "onlineAt": None,
            "firstConnectedAt": None,
            "lastConnectedNodeUuid": None,
        },
    }
    assert {name: user[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("member", "sent", "stored"),
    [
        # 3 expireAt on create; 3 expireAt precision
        ("expireAt", PAST, PAST),
        ("expireAt", "2030-01-01T00:00:00.123456Z", "2030-01-01T00:00:00.123Z"),
        ("expireAt", "2030-01-01T00:00:00.999999Z", "2030-01-01T00:00:00.999Z"),
        ("expireAt", "2030-01-01T00:00:00.1Z", "2030-01-01T00:00:00.100Z"),
        ("expireAt", "2030-01-01T00:00:00+00:00", FUTURE),
        ("expireAt", "2030-01-01T03:00:00+03:00", FUTURE),
        ("expireAt", "2029-12-31T21:30:00-02:30", FUTURE),
        ("expireAt", "2030-01-01T00:00:00", FUTURE),
        ("expireAt", "2030-01-01T00:00Z", FUTURE),
        # 3 hwidDeviceLimit on create
        ("hwidDeviceLimit", 0, 0),
        ("hwidDeviceLimit", 5, 5),
        ("hwidDeviceLimit", 2147483647, 2147483647),
        # 3 trafficLimitBytes
        ("trafficLimitBytes", 0, 0),
        ("trafficLimitBytes", 2**53 - 1, 2**53 - 1),
        ("trafficLimitBytes", 2**53 + 1, 2**53),
        # 3 status on create
        ("status", "ACTIVE", "ACTIVE"),
        ("status", "DISABLED", "DISABLED"),
        ("status", "LIMITED", "LIMITED"),
        ("status", "EXPIRED", "EXPIRED"),
        # 3 telegramId
        ("telegramId", 42, 42),
        ("telegramId", None, None),
        ("telegramId", 0, None),
        ("description", "x" * 20_000, "x" * 20_000),
        ("tag", "VIP_1", "VIP_1"),
        ("email", "bob@shop.example", "bob@shop.example"),
        # 3 squads
        ("activeInternalSquads", [], []),
        ("activeInternalSquads", [ALPHA], [{"uuid": ALPHA, "name": "Alpha"}]),
        # 3 unknown fields
        ("id", 900, 1),
    ],
)
def test_create_stores(users: Users, member: str, sent: object, stored: object) -> None:
    assert users.born(**{member: sent})[member] == stored


def test_squads_are_answered_in_lower_case(client: httpx.Client, users: Users) -> None:
    """3 squads: upper case accepted, answered lower."""
    upper = "aaaaaaaa-1111-4111-8111-111111111111".upper()

    answer = client.post(
        "/api/users",
        json={"username": "bob", "expireAt": FUTURE, "activeInternalSquads": [upper]},
    )

    assert failure(answer) == (500, "A018")  # valid, though unknown here
    assert users.born(activeInternalSquads=[ALPHA.upper()])["activeInternalSquads"]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("hwidDeviceLimit", 2147483648),
        ("trafficLimitBytes", 1.5),
        ("trafficLimitBytes", 2**63),
        ("telegramId", 1.5),
        ("description", "a\0b"),
        ("activeInternalSquads", [ALPHA, ALPHA]),
        ("activeInternalSquads", [ALPHA, UNKNOWN]),
        ("externalSquadUuid", UNKNOWN),
    ],
)
def test_create_fails_in_the_database(users: Users, member: str, value: object) -> None:
    """3: 500 A018, and 1 #2: no user is left."""
    body = {"username": "bob", "expireAt": FUTURE, member: value}

    answer = users.client.post("/api/users", json=body)

    assert failure(answer) == (500, "A018")
    assert answer.json()["message"] == "Failed to create user"
    assert users.panel.users() == []


def test_a_username_is_taken_once_and_case_counts(users: Users) -> None:
    """3 duplicate username."""
    users.born("bob")
    users.born("BOB")

    answer = users.client.post(
        "/api/users", json={"username": "bob", "expireAt": FUTURE}
    )

    assert failure(answer) == (400, "A019")
    assert answer.json()["message"] == "User username already exists"


def test_a_short_uuid_is_taken_once(users: Users) -> None:
    """3 duplicate shortUuid."""
    users.born("bob", shortUuid="same")

    answer = users.client.post(
        "/api/users",
        json={"username": "eve", "expireAt": FUTURE, "shortUuid": "same"},
    )

    assert failure(answer) == (400, "A020")


def test_patch_finds_by_id_before_username(users: Users) -> None:
    """3 PATCH selector."""
    bob, eve = users.born("bob"), users.born("eve")

    by_id = response(users.patch(id=bob["id"], username="eve", tag="T"))
    by_name = response(users.patch(username="eve", tag="U"))

    assert (by_id["id"], by_id["username"], by_id["tag"]) == (bob["id"], "bob", "T")
    assert (by_name["id"], by_name["tag"]) == (eve["id"], "U")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"id": 77, "username": "bob"}, (404, "A025")),  # no fallback to the username
        ({"id": -1}, (404, "A025")),
        ({"username": "nobody"}, (404, "A025")),
        ({"id": 1.5}, (500, "A039")),
        ({"id": 2**63}, (500, "A039")),
        ({}, (400, None)),
        ({"id": 0}, (400, None)),
        ({"id": "1"}, (400, None)),
    ],
)
def test_patch_finds_nobody(
    users: Users, selector: dict[str, Any], expected: tuple[int, str | None]
) -> None:
    """3 PATCH selector."""
    users.born("bob")

    assert failure(users.patch(**selector, tag="T")) == expected


def test_patch_leaves_absent_members(users: Users) -> None:
    """3 PATCH absent fields: also when repeated, and with the id alone."""
    born = users.born(trafficLimitBytes=5, hwidDeviceLimit=2, description="d", tag="T")

    once = response(users.patch(id=born["id"], expireAt=LATER))
    twice = response(users.patch(id=born["id"], expireAt=LATER))
    alone = response(users.patch(id=born["id"]))

    assert once == {**born, "expireAt": LATER, "updatedAt": once["updatedAt"]}
    assert once == twice == alone


@pytest.mark.parametrize("value", [None, 0, 7])
def test_patch_takes_every_device_limit(users: Users, value: int | None) -> None:
    """1 #1."""
    born = users.born(hwidDeviceLimit=3)

    changed = response(users.patch(id=born["id"], hwidDeviceLimit=value))

    assert changed["hwidDeviceLimit"] == value


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("trafficLimitBytes", 1.5),
        ("trafficLimitBytes", 2**63),
        ("hwidDeviceLimit", 2147483648),
        ("activeInternalSquads", [BETA, UNKNOWN]),
        ("externalSquadUuid", UNKNOWN),
    ],
)
def test_patch_fails_in_the_database_and_rolls_back(
    users: Users, member: str, value: object
) -> None:
    """1 #2: PATCH rolls back its other fields; 3: 500 A039."""
    born = users.born()

    answer = users.patch(id=born["id"], tag="NEW", **{member: value})

    assert failure(answer) == (500, "A039")
    assert answer.json()["message"] == "Update user error"
    assert users.get(born["id"]) == born


@pytest.mark.parametrize(
    ("before", "sent", "after"),
    [
        ([ALPHA], [], []),
        ([ALPHA], [BETA], [BETA]),
        ([ALPHA], [BETA, BETA], [BETA]),  # one squad twice is 200 on PATCH
        ([ALPHA, BETA], [ALPHA, ALPHA], [ALPHA, BETA]),  # 3 PATCH squads compare
    ],
)
def test_patch_replaces_squads(
    users: Users, before: list[str], sent: list[str], after: list[str]
) -> None:
    born = users.born(activeInternalSquads=before)

    changed = response(users.patch(id=born["id"], activeInternalSquads=sent))

    assert [squad["uuid"] for squad in changed["activeInternalSquads"]] == after
    assert changed["status"] == born["status"]


def test_patch_needs_an_expiry_in_the_future(users: Users) -> None:
    """3 PATCH expireAt; validation precedes the lookup (2 validation error)."""
    born = users.born()
    users.clock.now = NOON

    soon = users.patch(id=born["id"], expireAt="2027-01-15T08:00:12Z")
    past = users.patch(id=born["id"], expireAt="2027-01-15T08:00:10Z")
    nobody = users.patch(id=77, expireAt=PAST)

    assert soon.status_code == 200
    for refused in (past, nobody):
        assert refused.status_code == 400
        [issue] = refused.json()["errors"]
        assert issue["path"] == ["expireAt"]
        assert issue["message"] == "Expiration date cannot be in the past"


@pytest.mark.parametrize(
    "path", ["/api/users/77", "/api/users/by-username/nobody", "/api/users/1e2"]
)
def test_a_look_up_of_nobody(client: httpx.Client, path: str) -> None:
    """3 GET missing; 1 #9: 1e2 is a number."""
    answer = client.get(path)

    assert failure(answer) == (404, "A063")
    assert answer.json()["message"] == "User with specified params not found"


@pytest.mark.parametrize("action", ["enable", "disable", "reset-traffic", "revoke"])
def test_an_action_on_nobody(users: Users, action: str) -> None:
    """3 GET missing: actions answer A025."""
    answer = users.act(77, action)

    assert failure(answer) == (404, "A025")
    assert answer.json()["message"] == "User not found"


@pytest.mark.parametrize("text", ["1e0", "0x1", "1.0", "%201"])
def test_an_id_is_read_as_javascript_reads_it(users: Users, text: str) -> None:
    """1 #9."""
    born = users.born()

    assert response(users.client.get(f"/api/users/{text}")) == born


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", (400, None)),
        ("0", (400, None)),
        ("-1", (400, None)),
        (ALPHA, (400, None)),
        ("Infinity", (400, None)),
        ("by-username/", (400, None)),  # an empty name falls to /{id}
        ("1.5", (500, None)),
        ("9223372036854775808", (500, "A026")),
    ],
)
def test_what_is_no_id(
    client: httpx.Client, text: str, expected: tuple[int, str | None]
) -> None:
    """1 #9, 3 by-username."""
    assert failure(client.get(f"/api/users/{text}")) == expected


def test_any_decoded_text_is_a_username(client: httpx.Client) -> None:
    """3 by-username."""
    assert failure(client.get("/api/users/by-username/%D0%96%20x")) == (404, "A063")


def test_reset_traffic_forgets_what_was_used(users: Users, clock: SetClock) -> None:
    """3 reset-traffic: each time 200, lifetime kept."""
    born = users.born()
    users.panel.use_traffic(born["id"], 5000)
    clock.now += 1000

    user = response(users.act(born["id"], "reset-traffic"))
    again = users.act(born["id"], "reset-traffic")

    assert user["userTraffic"]["usedTrafficBytes"] == 0
    assert user["userTraffic"]["lifetimeUsedTrafficBytes"] == 5000
    assert user["lastTrafficResetAt"] == "2027-01-15T08:00:11.000Z"
    assert again.status_code == 200


def test_extend_is_relative(users: Users) -> None:
    """3 extend: twice adds twice."""
    born = users.born()
    path = f"/api/users/{born['id']}/actions/extend"

    users.client.post(path, json={"days": 1})
    user = response(users.client.post(path, json={"days": 1}))

    assert user["expireAt"] == "2030-01-03T00:00:00.000Z"


def test_extend_revives_from_now(users: Users) -> None:
    """3 extend: EXPIRED counts from now."""
    expired = users.in_state("EXPIRED")

    user = response(
        users.client.post(
            f"/api/users/{expired['id']}/actions/extend", json={"days": 1}
        )
    )

    assert (user["status"], user["expireAt"]) == ("ACTIVE", "2027-01-16T08:00:40.000Z")


@pytest.mark.parametrize("body", [None, {}])
def test_revoke_gives_new_secrets(users: Users, body: object) -> None:
    """3 revoke."""
    born = users.born()

    path = f"/api/users/{born['id']}/actions/revoke"
    user = response(users.client.post(path, json=body))

    changed = {name for name in born if born[name] != user[name]}
    assert changed >= {
        "shortUuid",
        "subscriptionUrl",
        "trojanPassword",
        "vlessUuid",
        "ssPassword",
        "subRevokedAt",
    }
    assert user["expireAt"] == born["expireAt"]


def test_a_deleted_username_comes_back_under_a_higher_id(
    client: httpx.Client, users: Users, panel: PanelSimulator
) -> None:
    """3 delete."""
    born = users.born()

    gone = client.delete(f"/api/users/{born['id']}")
    again = client.delete(f"/api/users/{born['id']}")

    assert (gone.status_code, gone.content) == (204, b"")
    assert failure(again) == (404, "A025")
    assert users.born()["id"] > born["id"]
    assert len(panel.users()) == 1
