"""Which tokens open what: forms, scopes, and what the panel remembers of them."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from infrastructure.simulators.panel.backing.tokens import signed
from tests.simulators.facts.case import Act, Case, Need
from tests.simulators.facts.stage import Stage, told
from tests.simulators.stage import FORWARDED, FUTURE

LIST = "/api/users?size=1"
UNAUTHORIZED, FORBIDDEN = (401, "bare"), (403, "bare")
MINUTE_MS = 60_000
CALLS: Mapping[str, tuple[str, str, object]] = {
    "users:list": ("GET", "/api/users", None),
    "users:by-id": ("GET", "/api/users/1", None),
    "users:by-username": ("GET", "/api/users/by-username/nobody", None),
    "users:stream": ("GET", "/api/users/stream", None),
    "users:resolve": ("POST", "/api/users/resolve", {"id": 1}),
    "users:create": ("POST", "/api/users", {"username": "scoped", "expireAt": FUTURE}),
    "users:update": ("PATCH", "/api/users", {"id": 1}),
    "users:enable": ("POST", "/api/users/1/actions/enable", None),
    "users:disable": ("POST", "/api/users/1/actions/disable", None),
    "users:reset-traffic": ("POST", "/api/users/1/actions/reset-traffic", None),
    "users:revoke-subscription": ("POST", "/api/users/1/actions/revoke", {}),
    "users:extend": ("POST", "/api/users/1/actions/extend", {"days": 1}),
    "users:delete": ("DELETE", "/api/users/1", None),
    "system:metadata": ("GET", "/api/system/metadata", None),
}
"""What each scope opens."""
LOOKS = {
    f"users:{name}" for name in ("list", "by-id", "by-username", "stream", "resolve")
}


def authorized(value: str | None) -> Act:
    """Ask with that header `Authorization`, `{}` being the token; see the answer."""

    def act(stage: Stage) -> object:
        headers = dict(FORWARDED)
        if value is not None:
            headers["Authorization"] = value.format(stage.token)
        return told(stage.bare("GET", LIST, headers))

    return act


def of_another_key(stage: Stage) -> object:
    forged = signed({"uuid": "1", "role": "API"}, b"another key")
    return told(stage.with_token(forged, "GET", LIST))


def the_claims_of_ours(stage: Stage) -> object:
    head, body, _ = stage.token.split(".")
    return decoded(head)["alg"], decoded(body)["role"]


def decoded(part: str) -> dict[str, Any]:
    raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    document: dict[str, Any] = json.loads(raw)
    return document


def body_without_a_token(stage: Stage) -> object:
    return stage.bare("GET", LIST).json()


def body_without_the_scope(stage: Stage) -> object:
    token = stage.panel.issue_token("users:by-id")
    return stage.with_token(token, "GET", LIST).json()


def listing(*scopes: str) -> Act:
    """List users with a token of these scopes; see how it is answered."""
    return lambda stage: told(
        stage.with_token(stage.panel.issue_token(*scopes), "GET", LIST)
    )


def a_deleted_one(stage: Stage) -> object:
    token = stage.panel.issue_token("*")
    before = told(stage.with_token(token, "GET", LIST))
    stage.panel.delete_token(token)
    return before, told(stage.with_token(token, "GET", LIST))


def one_it_never_knew(stage: Stage) -> object:
    token = signed({"uuid": "00000000-0000-4000-8000-000000000000", "role": "API"})
    return told(stage.with_token(token, "GET", LIST))


def an_expired_one(stage: Stage) -> object:
    expires_at = stage.clock.now + MINUTE_MS
    token = stage.panel.issue_token("*", expires_at=expires_at)
    before = told(stage.with_token(token, "GET", LIST))
    stage.clock.now += MINUTE_MS
    return before, told(stage.with_token(token, "GET", LIST))


def opened_by(scope: str) -> Act:
    """Make its call with that scope alone, and with all others; see who is refused."""

    def act(stage: Stage) -> object:
        method, path, body = CALLS[scope]
        alone = stage.panel.issue_token(scope)
        others = stage.panel.issue_token(*(CALLS.keys() - {scope}))
        return (
            told(stage.with_token(alone, method, path, body)) == FORBIDDEN,
            told(stage.with_token(others, method, path, body)) == FORBIDDEN,
        )

    return act


def opened_by_group(group: str) -> Act:
    """Make every call with that scope; see which ones it opens."""

    def act(stage: Stage) -> object:
        token = stage.panel.issue_token(group)
        return {
            scope
            for scope, (method, path, body) in CALLS.items()
            if told(stage.with_token(token, method, path, body)) != FORBIDDEN
        }

    return act


def while_the_database_is_down(*, used_before: bool, minutes: int = 0) -> Act:
    """Use a token so many minutes later, the database being down; see the answer."""

    def act(stage: Stage) -> object:
        token = stage.panel.issue_token("*")
        if used_before:
            assert stage.with_token(token, "GET", LIST).status_code == 200
        stage.clock.now += minutes * MINUTE_MS
        stage.panel.set_outage(database_down=True)
        return told(stage.with_token(token, "GET", LIST))

    return act


def after_the_outage(stage: Stage) -> object:
    token = stage.panel.issue_token("*")
    stage.panel.set_outage(database_down=True)
    during = told(stage.with_token(token, "GET", LIST))
    stage.panel.set_outage()
    return during, told(stage.with_token(token, "GET", LIST))


FORMS = (
    Case("token.missing", authorized(None), UNAUTHORIZED),
    Case("token.garbage", authorized("Bearer garbage"), UNAUTHORIZED),
    Case("token.another-key", of_another_key, UNAUTHORIZED),
    Case("token.another-scheme", authorized("Basic {}"), UNAUTHORIZED),
    Case("token.bare", authorized("{}"), UNAUTHORIZED),
    Case("token.lower-case", authorized("bearer {}"), (200,)),
    Case("token.upper-case", authorized("BEARER {}"), (200,)),
    Case("token.form", the_claims_of_ours, ("HS256", "API")),
    Case(
        "token.401-body",
        body_without_a_token,
        {"message": "Unauthorized", "statusCode": 401},
    ),
    Case(
        "token.403-body",
        body_without_the_scope,
        {"message": "Forbidden resource", "error": "Forbidden", "statusCode": 403},
        Need.CONTROLS,
    ),
    Case("token.expired", an_expired_one, ((200,), UNAUTHORIZED), Need.CLOCK),
    Case("token.deleted", a_deleted_one, ((200,), FORBIDDEN), Need.CONTROLS),
    Case("token.unknown", one_it_never_knew, FORBIDDEN, Need.CONTROLS),
)
SCOPES = (
    Case("scope.missing", listing("users:by-id"), FORBIDDEN, Need.CONTROLS),
    Case("scope.all", listing("*"), (200,), Need.CONTROLS),
    Case("scope.users-read", opened_by_group("users:read"), LOOKS, Need.CONTROLS),
    Case(
        "scope.users-write",
        opened_by_group("users:write"),
        {scope for scope in CALLS if scope.startswith("users:")} - LOOKS,
        Need.CONTROLS,
    ),
    Case(
        "scope.system-read",
        opened_by_group("system:read"),
        {"system:metadata"},
        Need.CONTROLS,
    ),
    *(
        Case(f"scope.{scope}", opened_by(scope), (False, True), Need.CONTROLS)
        for scope in CALLS
    ),
)
OUTAGE = (
    Case(
        "token.database-down",
        while_the_database_is_down(used_before=False),
        FORBIDDEN,
        Need.CONTROLS,
    ),
    Case(
        "token.remembered",
        while_the_database_is_down(used_before=True, minutes=29),
        (500, "A024"),
        Need.CLOCK,
    ),
    Case(
        "token.in-redis",
        while_the_database_is_down(used_before=True, minutes=59),
        (500, "A024"),
        Need.CLOCK,
    ),
    Case(
        "token.forgotten",
        while_the_database_is_down(used_before=True, minutes=60),
        FORBIDDEN,
        Need.CLOCK,
    ),
    Case("token.after-outage", after_the_outage, (FORBIDDEN, (200,)), Need.CONTROLS),
)
CASES = (*FORMS, *SCOPES, *OUTAGE)
