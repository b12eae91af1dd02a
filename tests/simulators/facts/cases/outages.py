"""A database that is down, a row that is stuck, a Redis that is down, lost answers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx

from infrastructure.simulators.panel.backing.obstacles import Redis
from tests.simulators.facts.case import Act, Case, Need
from tests.simulators.facts.stage import Stage, User, told
from tests.simulators.stage import FUTURE

LIST = "/api/users?size=1"


def while_down(method: str, path: str, body: object = None) -> Act:
    """Ask while the panel's database is down; `{}` is the id of a user who is there."""

    def act(stage: Stage) -> object:
        user = stage.born()
        stage.panel.set_outage(database_down=True)
        given = {"id": user["id"], "tag": "T"} if method == "PATCH" else body
        where = path.format(user["id"])
        return told(stage.client.request(method, where, json=given))

    return act


def during(
    stage: Stage, ask: Callable[[], httpx.Response], then: Callable[[], None]
) -> httpx.Response:
    """Ask, do that once the panel keeps the request waiting, and return the answer."""
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(ask)
        stage.panel.wait_obstructed()
        then()
        return asked.result(30)


def read_while_stuck(stage: Stage) -> object:
    user = stage.born()
    stage.panel.lock_row(user["id"])
    return stage.get(user) == user


def patched_while_stuck(stage: Stage) -> object:
    user = stage.born()
    stage.panel.lock_row(user["id"])
    answer = during(
        stage, lambda: stage.patch(user, tag="T"), lambda: passes(stage, 5.0)
    )
    return told(answer), stage.get(user) == user


def patched_in_time(stage: Stage) -> object:
    user = stage.born()
    stage.panel.lock_row(user["id"])

    def unlock() -> None:
        still_waits(stage, 4.9)
        stage.panel.unlock_row(user["id"])

    answer = during(stage, lambda: stage.patch(user, tag="T"), unlock)
    return told(answer), stage.get(user)["tag"]


def passes(stage: Stage, seconds: float) -> None:
    stage.clock.now += round(seconds * 1000)


def still_waits(stage: Stage, seconds: float) -> None:
    """Let so much time pass; the request has seen it, and waits on."""
    passes(stage, seconds)
    stage.panel.wait_obstructed()


def acted_while_stuck(action: str, member: str, **members: object) -> Act:
    """Act on a stuck row that comes free after 11.7 s; see the answer and a member."""

    def act(stage: Stage) -> object:
        user = stage.born(**members)
        stage.panel.lock_row(user["id"])

        def unlock() -> None:
            still_waits(stage, 11.7)
            stage.panel.unlock_row(user["id"])

        answer = during(stage, lambda: stage.act(user, action), unlock)
        return told(answer), stage.get(user)[member]

    return act


def given_up_behind_a_lock(stage: Stage) -> object:
    user = stage.born()
    stage.panel.lock_row(user["id"])

    def ask() -> str:
        try:
            stage.client.patch(
                "/api/users", json={"id": user["id"], "tag": "LATE"}, timeout=0.2
            )
        except httpx.ReadTimeout as error:
            return type(error).__name__
        return "answered"

    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(ask)
        stage.panel.wait_obstructed()
        outcome = asked.result(30)
        still_waits(stage, 4.0)
        stage.panel.unlock_row(user["id"])
    return outcome, applied_at_last(stage, user)


def applied_at_last(stage: Stage, user: User) -> object:
    """Close the panel, which lets everybody finish, and see what it has of the user."""
    stage.panel.close()
    written = [row for row in stage.panel.book() if row.user_id == user["id"]][-1]
    return written.method, written.applied, written.answered


def held_and_given_up(stage: Stage) -> object:
    user = stage.born()
    hold = stage.panel.hold("PATCH", "/api/users", when="before")
    body = {"id": user["id"], "tag": "LATE"}
    try:
        stage.client.patch("/api/users", json=body, timeout=0.2)
    except httpx.ReadTimeout:
        hold.wait_arrived()
    hold.release()
    return applied_at_last(stage, user)


def stopped_in_flight(stage: Stage) -> object:
    user = stage.born()
    stage.panel.lock_row(user["id"])
    answer = during(stage, lambda: stage.act(user, "disable"), stage.panel.close)
    return told(answer), [row.status for row in stage.panel.users()]


def connecting_after_the_stop(stage: Stage) -> object:
    stage.panel.close()
    try:
        stage.bare("GET", LIST)
    except httpx.ConnectError:
        return "refused"
    return f"answered on {urlsplit(stage.url).port}"


def with_a_seen_token(redis: Redis, method: str, path: str, **body: object) -> Act:
    """Ask with a token that was used before, Redis being so; `{}` is a user's id."""

    def act(stage: Stage) -> object:
        user = stage.born()
        stage.panel.set_outage(redis=redis)
        given = {"id": user["id"], **body} if method == "PATCH" else None
        where = path.format(user["id"])
        return told(stage.client.request(method, where, json=given))

    return act


def with_a_new_token_and_redis_frozen(stage: Stage) -> object:
    token = stage.panel.issue_token("*")
    stage.panel.set_outage(redis="frozen")

    def thaw() -> None:
        still_waits(stage, 7.9)
        stage.panel.set_outage()

    answer = during(stage, lambda: stage.with_token(token, "GET", LIST), thaw)
    return told(answer)


def with_a_new_token_and_redis_refusing(stage: Stage) -> object:
    token = stage.panel.issue_token("*")
    stage.panel.set_outage(redis="refusing")

    def wait() -> None:
        still_waits(stage, 8.9)
        passes(stage, 0.1)

    answer = during(stage, lambda: stage.with_token(token, "GET", LIST), wait)
    return answer.status_code, answer.json()


DOWN = (
    Case("down.list", while_down("GET", LIST), (500, "A024"), Need.CONTROLS),
    Case(
        "down.by-id", while_down("GET", "/api/users/{}"), (500, "A026"), Need.CONTROLS
    ),
    Case(
        "down.by-username",
        while_down("GET", "/api/users/by-username/nobody"),
        (500, "A026"),
        Need.CONTROLS,
    ),
    Case(
        "down.stream",
        while_down("GET", "/api/users/stream"),
        (500, "A024"),
        Need.CONTROLS,
    ),
    Case(
        "down.create",
        while_down("POST", "/api/users", {"username": "down", "expireAt": FUTURE}),
        (500, "A018"),
        Need.CONTROLS,
    ),
    Case("down.patch", while_down("PATCH", "/api/users"), (500, "A039"), Need.CONTROLS),
    Case(
        "down.disable",
        while_down("POST", "/api/users/{}/actions/disable"),
        (500, "A028"),
        Need.CONTROLS,
    ),
    Case(
        "down.metadata",
        while_down("GET", "/api/system/metadata"),
        (200,),
        Need.CONTROLS,
    ),
)
STUCK = (
    Case("stuck.get", read_while_stuck, answer=True, needs=Need.CONTROLS),
    Case("stuck.patch", patched_while_stuck, ((500, "A039"), True), Need.CLOCK),
    Case("stuck.patch-in-time", patched_in_time, ((200,), "T"), Need.CLOCK),
    Case(
        "stuck.enable",
        acted_while_stuck("enable", "status", status="DISABLED"),
        ((200,), "ACTIVE"),
        Need.CLOCK,
    ),
    Case(
        "stuck.disable",
        acted_while_stuck("disable", "status"),
        ((200,), "DISABLED"),
        Need.CLOCK,
    ),
    Case(
        "stuck.reset-traffic",
        acted_while_stuck("reset-traffic", "status", status="LIMITED"),
        ((200,), "ACTIVE"),
        Need.CLOCK,
    ),
)
LOST = (
    Case("lost.carried-out", held_and_given_up, ("PATCH", True, False), Need.CONTROLS),
    Case(
        "lost.behind-a-lock",
        given_up_behind_a_lock,
        ("ReadTimeout", ("PATCH", True, False)),
        Need.CLOCK,
    ),
    Case("stop.in-flight", stopped_in_flight, ((200,), ["DISABLED"]), Need.CONTROLS),
    Case("stop.new", connecting_after_the_stop, "refused", Need.CONTROLS),
)
SEEN: tuple[tuple[str, Redis], ...] = (("frozen", "frozen"), ("refusing", "refusing"))
REDIS = (
    *(
        Case(
            f"redis.{name}-{what}",
            with_a_seen_token(redis, method, path, **body),
            (200,),
            Need.CONTROLS,
        )
        for name, redis in SEEN
        for what, method, path, body in (
            ("read", "GET", "/api/users/{}", {}),
            ("patch", "PATCH", "/api/users", {"tag": "T"}),
            ("disable", "POST", "/api/users/{}/actions/disable", {}),
        )
    ),
    Case("redis.frozen-new", with_a_new_token_and_redis_frozen, (200,), Need.CLOCK),
    Case(
        "redis.refusing-new",
        with_a_new_token_and_redis_refusing,
        (500, {"statusCode": 500, "message": "Internal server error"}),
        Need.CLOCK,
    ),
)
CASES = (*DOWN, *STUCK, *LOST, *REDIS)
