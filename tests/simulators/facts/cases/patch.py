"""PATCH /api/users: whom it finds, what it leaves, what it refuses, what it moves."""

from datetime import UTC, datetime

from tests.simulators.facts.case import (
    Act,
    Case,
    Need,
    patched,
    patching,
    status_after_patch,
)
from tests.simulators.facts.stage import Stage, User, response, told
from tests.simulators.stage import FUTURE, PAST

INVALID = (400, "invalid")
FAILED = (500, "A039")
LATER = "2031-01-01T00:00:00.000Z"


def selecting(**selector: object) -> Act:
    """PATCH by that selector; see how it is answered."""
    return lambda stage: told(
        stage.client.patch("/api/users", json={**selector, "tag": "T"})
    )


def by_name(stage: Stage) -> object:
    user = stage.born()
    stage.client.patch("/api/users", json={"username": user["username"], "tag": "T"})
    return stage.get(user)["tag"]


def two_selectors(stage: Stage) -> object:
    one, other = stage.born(), stage.born()
    stage.patch(one, username=other["username"], tag="T")
    return stage.get(one)["tag"], stage.get(other)["tag"]


def a_new_name(stage: Stage) -> object:
    user = stage.born()
    stage.patch(user, username="renamed")
    return stage.get(user)["username"] == user["username"]


def an_id_of_nobody_with_a_good_name(stage: Stage) -> object:
    gone, user = stage.gone(), stage.born()
    answer = stage.patch(gone, username=user["username"], tag="T")
    return told(answer), stage.get(user)["tag"]


def the_words_of_no_selector(stage: Stage) -> object:
    answer = stage.client.patch("/api/users", json={"tag": "T"})
    return [issue["message"] for issue in answer.json()["errors"]]


def full(user: User) -> dict[str, object]:
    return {
        "id": user["id"],
        "expireAt": LATER,
        "trafficLimitBytes": 7,
        "hwidDeviceLimit": 2,
        "activeInternalSquads": [],
        "tag": "T",
    }


def absent_members(stage: Stage) -> object:
    user = stage.born(trafficLimitBytes=5, hwidDeviceLimit=2, description="d", tag="T")
    after = response(stage.patch(user, expireAt=LATER))
    return {name for name in user if user[name] != after[name]} - {"updatedAt"}


def a_full_body_twice(stage: Stage) -> object:
    user = stage.born()
    states = []
    for _ in range(2):
        stage.client.patch("/api/users", json=full(user))
        states.append({**stage.get(user), "updatedAt": None})
    return states[0] == states[1]


def an_expiry_two_seconds_ahead(stage: Stage) -> object:
    ahead = datetime.fromtimestamp((stage.now_ms() + 2000) / 1000, UTC)
    return told(stage.patch(stage.born(), expireAt=ahead.isoformat()))


def the_words_of_a_past_expiry(stage: Stage) -> object:
    answer = stage.patch(stage.born(), expireAt=PAST)
    return [issue["message"] for issue in answer.json()["errors"]]


def disabled_when(status: str, /, **members: object) -> Act:
    """PATCH to DISABLED in that status; see the answer, and the status after."""

    def act(stage: Stage) -> object:
        user = stage.in_status(status)
        answer = stage.patch(user, status="DISABLED", **members)
        return answer.status_code, stage.get(user)["status"]

    return act


def expired_with_squads(stage: Stage) -> object:
    user = stage.in_status("EXPIRED")
    answer = stage.patch(user, activeInternalSquads=[stage.squads[0]])
    return response(answer)["status"]


def raised_below_usage(stage: Stage) -> object:
    user = stage.born(status="LIMITED", trafficLimitBytes=1000)
    stage.panel.use_traffic(user["id"], 5000)
    return response(stage.patch(user, trafficLimitBytes=2000))["status"]


def raised_below_usage_and_swept(stage: Stage) -> object:
    user = stage.born(status="LIMITED", trafficLimitBytes=1000)
    stage.panel.use_traffic(user["id"], 5000)
    stage.patch(user, trafficLimitBytes=2000)
    stage.clock.now += 60_000
    return stage.get(user)["status"]


def moved_by(**members: object) -> Act:
    """PATCH so, some milliseconds later; see whether `updatedAt` moved."""

    def act(stage: Stage) -> object:
        user = stage.born()
        stage.tick(user)
        stage.patch(user, **members)
        return stage.get(user)["updatedAt"] != user["updatedAt"]

    return act


def moved_by_squads(stage: Stage) -> object:
    return moved_by(activeInternalSquads=[stage.squads[0]])(stage)


def a_member_then_null(stage: Stage) -> object:
    user = stage.born(description="d")
    return response(stage.patch(user, description=None))["description"]


SELECTORS = (
    Case("selector.username", by_name, "T"),
    Case("selector.id-wins", two_selectors, ("T", None)),
    Case("selector.never-renames", a_new_name, answer=True),
    Case(
        "selector.no-fallback", an_id_of_nobody_with_a_good_name, ((404, "A025"), None)
    ),
    Case("selector.neither", selecting(), (*INVALID, "")),
    Case(
        "selector.neither-words",
        the_words_of_no_selector,
        ["At least one of username, id must be provided"],
    ),
    Case("selector.0", selecting(id=0), (*INVALID, "")),
    Case("selector.text", selecting(id="1"), (*INVALID, "id")),
    Case("selector.negative", selecting(id=-1), (404, "A025")),
    Case("selector.fraction", selecting(id=1.5), FAILED),
    Case("selector.too-big", selecting(id=2**63), FAILED),
)
VALUES = (
    Case("patch.absent", absent_members, {"expireAt"}),
    Case("patch.twice", a_full_body_twice, answer=True),
    Case("patch.id-alone", patching(), (200,)),
    Case(
        "patch.device-limit-null",
        patched("hwidDeviceLimit", hwidDeviceLimit=None),
        None,
    ),
    Case("patch.device-limit-0", patched("hwidDeviceLimit", hwidDeviceLimit=0), 0),
    Case("patch.device-limit-n", patched("hwidDeviceLimit", hwidDeviceLimit=7), 7),
    Case("patch.description-null", a_member_then_null, None),
    Case("patch.traffic-fraction", patching(trafficLimitBytes=1.5), FAILED),
    Case("patch.traffic-too-big", patching(trafficLimitBytes=2**63), FAILED),
    Case("patch.expiry-past", patching(expireAt=PAST), (*INVALID, "expireAt")),
    Case(
        "patch.expiry-past-words",
        the_words_of_a_past_expiry,
        ["Expiration date cannot be in the past"],
    ),
    Case("patch.expiry-2s", an_expiry_two_seconds_ahead, (200,)),
    Case("patch.expiry-null", patching(expireAt=None), (*INVALID, "expireAt")),
)
STATUS = (
    Case("disabled.on-expired", disabled_when("EXPIRED"), (200, "EXPIRED")),
    Case("disabled.on-limited", disabled_when("LIMITED"), (200, "LIMITED")),
    Case(
        "disabled.on-expired-with-expiry",
        disabled_when("EXPIRED", expireAt=FUTURE),
        (200, "EXPIRED"),
    ),
    Case("disabled.on-active", disabled_when("ACTIVE"), (200, "DISABLED")),
    Case("disabled.on-disabled", disabled_when("DISABLED"), (200, "DISABLED")),
    *(
        Case(
            f"active.on-{status.lower()}",
            status_after_patch(status, status="ACTIVE"),
            "ACTIVE",
        )
        for status in ("ACTIVE", "DISABLED", "EXPIRED", "LIMITED")
    ),
    Case(
        "expired.later-expiry",
        status_after_patch("EXPIRED", expireAt=FUTURE),
        "ACTIVE",
    ),
    Case(
        "expired.later-expiry-active",
        status_after_patch("EXPIRED", expireAt=FUTURE, status="ACTIVE"),
        "ACTIVE",
    ),
    Case(
        "expired.limit",
        status_after_patch("EXPIRED", trafficLimitBytes=9000),
        "EXPIRED",
    ),
    Case("expired.squads", expired_with_squads, "EXPIRED"),
    Case(
        "disabled.expiry", status_after_patch("DISABLED", expireAt=FUTURE), "DISABLED"
    ),
    Case(
        "disabled.limit",
        status_after_patch("DISABLED", trafficLimitBytes=9000),
        "DISABLED",
    ),
)
LIMITED = (
    Case(
        "limited.raised",
        status_after_patch("LIMITED", trafficLimitBytes=2000),
        "ACTIVE",
    ),
    Case(
        "limited.unlimited",
        status_after_patch("LIMITED", trafficLimitBytes=0),
        "ACTIVE",
    ),
    Case(
        "limited.same", status_after_patch("LIMITED", trafficLimitBytes=1000), "LIMITED"
    ),
    Case(
        "limited.lower", status_after_patch("LIMITED", trafficLimitBytes=500), "LIMITED"
    ),
    Case("limited.usage", raised_below_usage, "ACTIVE", Need.CONTROLS),
    Case("limited.swept-again", raised_below_usage_and_swept, "LIMITED", Need.CLOCK),
)
UPDATED_AT = (
    Case("updated-at.column", moved_by(tag="T"), answer=True),
    Case("updated-at.squads", moved_by_squads, answer=False),
    Case("updated-at.id", moved_by(), answer=False),
)
CASES = (*SELECTORS, *VALUES, *STATUS, *LIMITED, *UPDATED_AT)
