"""POST …/actions/*, and DELETE: what they do from each status, and to nobody."""

from collections import Counter

from tests.simulators.facts.case import (
    Act,
    Case,
    Need,
    status_after_action,
    words,
)
from tests.simulators.facts.stage import Stage, as_ms, response, told

DAY_MS = 86_400_000
NOBODY = (404, "A025")
SECRETS = ("shortUuid", "subscriptionUrl", "trojanPassword", "vlessUuid", "ssPassword")


def acting(status: str, action: str, body: object = None) -> Act:
    """Act on a user in that status; see how it is answered."""
    return lambda stage: told(stage.act(stage.in_status(status), action, body))


def on_nobody(action: str, body: object = None) -> Act:
    return lambda stage: told(stage.act(stage.gone(), action, body))


def eight_disables(stage: Stage) -> object:
    path = f"/api/users/{stage.born()['id']}/actions/disable"
    answers = Counter(map(told, stage.at_once(8, "POST", path)))
    return answers[200,] in (1, 2), answers[200,] + answers[400, "A029"]


def reset_twice(stage: Stage) -> object:
    user = stage.born()
    return [stage.act(user, "reset-traffic").status_code for _ in range(2)]


def usage_after_reset(stage: Stage) -> object:
    user = stage.born()
    stage.panel.use_traffic(user["id"], 5000)
    return response(stage.act(user, "reset-traffic"))["userTraffic"]["usedTrafficBytes"]


def lifetime_after_reset(stage: Stage) -> object:
    user = stage.born()
    stage.panel.use_traffic(user["id"], 5000)
    traffic = response(stage.act(user, "reset-traffic"))["userTraffic"]
    return traffic["lifetimeUsedTrafficBytes"]


def the_instant_of_a_reset(stage: Stage) -> object:
    user = stage.born()
    before = stage.now_ms()
    shown = response(stage.act(user, "reset-traffic"))["lastTrafficResetAt"]
    return before <= as_ms(shown) <= stage.now_ms()


def moved_by(status: str, action: str) -> Act:
    """Act so, some milliseconds later; see whether `updatedAt` moved."""

    def act(stage: Stage) -> object:
        user = stage.in_status(status)
        stage.tick(user)
        after = response(stage.act(user, action))
        return bool(after["updatedAt"] != user["updatedAt"])

    return act


def days_added(times: int) -> Act:
    """Extend a user by three days, so many times; see by how many days he was."""

    def act(stage: Stage) -> object:
        user = stage.born()
        for _ in range(times):
            stage.act(user, "extend", {"days": 3})
        after = stage.get(user)
        return (as_ms(after["expireAt"]) - as_ms(user["expireAt"])) / DAY_MS

    return act


def an_expired_one_extended(stage: Stage) -> object:
    user = stage.in_status("EXPIRED")
    before = stage.now_ms()
    after = response(stage.act(user, "extend", {"days": 1}))
    return before <= as_ms(after["expireAt"]) - DAY_MS <= stage.now_ms()


def revoking(body: object = None) -> Act:
    return lambda stage: told(stage.act(stage.born(), "revoke", body))


def renewed_by_revoke(member: str) -> Act:
    """Revoke; see whether that member is another one."""

    def act(stage: Stage) -> object:
        user = stage.born()
        after = response(stage.act(user, "revoke", {}))
        return bool(after[member]) and after[member] != user[member]

    return act


def deleting(stage: Stage) -> object:
    return told(stage.client.delete(f"/api/users/{stage.born()['id']}"))


def deleting_again(stage: Stage) -> object:
    return told(stage.client.delete(f"/api/users/{stage.gone()['id']}"))


def born_again(stage: Stage) -> object:
    gone = stage.gone()
    return stage.born(username=gone["username"])["id"] > gone["id"]


ENABLE = (
    Case("enable.active", acting("ACTIVE", "enable"), (400, "A030")),
    Case(
        "enable.active-words",
        words(lambda stage: stage.act(stage.born(), "enable")),
        "User already enabled",
    ),
    Case("enable.expired", status_after_action("EXPIRED", "enable"), "ACTIVE"),
    Case("enable.limited", status_after_action("LIMITED", "enable"), "ACTIVE"),
    Case("disable.disabled", acting("DISABLED", "disable"), (400, "A029")),
    Case(
        "disable.disabled-words",
        words(lambda stage: stage.act(stage.in_status("DISABLED"), "disable")),
        "User already disabled",
    ),
    *(
        Case(
            f"disable.{status.lower()}",
            status_after_action(status, "disable"),
            "DISABLED",
        )
        for status in ("ACTIVE", "EXPIRED", "LIMITED")
    ),
    Case("disable.at-once", eight_disables, (True, 8)),
)
RESET = (
    Case("reset.each-time", reset_twice, [200, 200]),
    Case("reset.used", usage_after_reset, 0, Need.CONTROLS),
    Case("reset.lifetime", lifetime_after_reset, 5000, Need.CONTROLS),
    Case("reset.instant", the_instant_of_a_reset, answer=True),
    Case("reset.limited", status_after_action("LIMITED", "reset-traffic"), "ACTIVE"),
    Case("reset.expired", status_after_action("EXPIRED", "reset-traffic"), "EXPIRED"),
)
EXTEND = (
    Case("extend.once", days_added(1), 3),
    Case("extend.twice", days_added(2), 6),
    Case("extend.expired-from-now", an_expired_one_extended, answer=True),
    Case(
        "extend.expired-revives",
        status_after_action("EXPIRED", "extend", {"days": 1}),
        "ACTIVE",
    ),
    Case(
        "extend.limited",
        status_after_action("LIMITED", "extend", {"days": 1}),
        "LIMITED",
    ),
    Case(
        "extend.disabled",
        status_after_action("DISABLED", "extend", {"days": 1}),
        "DISABLED",
    ),
)
REVOKE = (
    Case("revoke.object", revoking({}), (200,)),
    Case("revoke.no-body", revoking(), (200,)),
    *(Case(f"revoke.{name}", renewed_by_revoke(name), answer=True) for name in SECRETS),
    Case("revoke.instant", renewed_by_revoke("subRevokedAt"), answer=True),
)
DELETE = (
    Case("delete.answer", deleting, (204,)),
    Case("delete.again", deleting_again, NOBODY),
    Case("delete.born-again", born_again, answer=True),
)
MISSING = (
    Case("missing.enable", on_nobody("enable"), NOBODY),
    Case("missing.disable", on_nobody("disable"), NOBODY),
    Case("missing.reset-traffic", on_nobody("reset-traffic"), NOBODY),
    Case("missing.revoke", on_nobody("revoke", {}), NOBODY),
    Case("missing.extend", on_nobody("extend", {"days": 1}), NOBODY),
    Case(
        "missing.patch", lambda stage: told(stage.patch(stage.gone(), tag="T")), NOBODY
    ),
    Case(
        "missing.patch-words",
        words(lambda stage: stage.patch(stage.gone(), tag="T")),
        "User not found",
    ),
)
UPDATED_AT = (
    Case("updated-at.reset", moved_by("ACTIVE", "reset-traffic"), answer=True),
    Case("updated-at.enable", moved_by("DISABLED", "enable"), answer=False),
    Case("updated-at.disable", moved_by("ACTIVE", "disable"), answer=False),
)
CASES = (*ENABLE, *RESET, *EXTEND, *REVOKE, *DELETE, *MISSING, *UPDATED_AT)
