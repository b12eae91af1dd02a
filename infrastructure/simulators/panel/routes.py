"""The panel's routes, matched as its framework does.

Paths are case-insensitive, one trailing slash is tolerated and an empty segment is
not; what stands in the place of a parameter keeps its case (remnawave.md 2).
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote

from infrastructure.simulators.panel.users import reads, writes
from infrastructure.simulators.panel.users.answers import (
    internal_error,
    validation_error,
)
from infrastructure.simulators.panel.users.bodies import (
    InvalidBodyError,
    UnstorableError,
)
from infrastructure.simulators.panel.users.directory import (
    Call,
    Directory,
    Handler,
    Result,
)


@dataclass(frozen=True, slots=True)
class Route:
    """One method and path, its handler, and the code of its failing database."""

    method: str
    pattern: re.Pattern[str]
    handler: Handler
    failure_code: str | None
    """None: the route needs no database."""


@dataclass(frozen=True, slots=True)
class Match:
    """A route that fits, with the text of its parameters."""

    route: Route
    params: tuple[str, ...]


def _route(method: str, path: str, handler: Handler, failure: str | None) -> Route:
    pattern = re.compile(path.replace("*", "([^/]+)"), re.IGNORECASE)
    return Route(method, pattern, handler, failure)


# Earlier routes win, so that `stream` is not taken for an id. The codes of create,
# PATCH, disable, list, stream and the look-ups were observed, the others are of the
# catalogue.
_ROUTES: Final = (
    _route("GET", "/api/users", reads.page, "A024"),
    _route("POST", "/api/users", writes.create, "A018"),
    _route("PATCH", "/api/users", writes.update, "A039"),
    _route("GET", "/api/users/stream", reads.stream, "A024"),
    _route("POST", "/api/users/resolve", reads.resolve, "A026"),
    _route("GET", "/api/users/by-username/*", reads.by_username, "A026"),
    _route("GET", "/api/users/*", reads.by_id, "A026"),
    _route("DELETE", "/api/users/*", writes.delete, "A037"),
    _route("POST", "/api/users/*/actions/enable", writes.enable, "A031"),
    _route("POST", "/api/users/*/actions/disable", writes.disable, "A028"),
    _route("POST", "/api/users/*/actions/reset-traffic", writes.reset_traffic, "A056"),
    _route("POST", "/api/users/*/actions/extend", writes.extend, "A039"),
    _route("POST", "/api/users/*/actions/revoke", writes.revoke, "A039"),
    _route("GET", "/api/internal-squads", reads.internal_squads, "A001"),
    _route("GET", "/api/system/metadata", reads.metadata, None),
)


def find_route(method: str, path: str) -> Match | None:
    """Return the route of this method and path without query."""
    path = path.removesuffix("/")
    for route in _ROUTES:
        if route.method == method and (match := route.pattern.fullmatch(path)):
            return Match(route, tuple(unquote(text) for text in match.groups()))
    return None


def carry_out(
    directory: Directory, match: Match, target: str, body: object, now: int
) -> Result:
    """Return what the call does and answers; whatever is wrong with it is an answer."""
    query = target.partition("?")[2]
    call = Call(
        target=target,
        now=now,
        params=match.params,
        query=dict(parse_qsl(query, keep_blank_values=True)),
        body=body,
    )
    try:
        return match.route.handler(directory, call)
    except InvalidBodyError as error:
        return Result(validation_error(error.issues))
    except reads.FractionError:
        return Result(internal_error())
    except UnstorableError:
        return call.error(match.route.failure_code or "A001")
