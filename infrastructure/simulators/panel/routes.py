"""The panel's routes, matched as its framework does.

Paths are case-insensitive, one trailing slash is tolerated and an empty segment is
not; what stands in the place of a parameter keeps its case (remnawave.md 2).
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote

from infrastructure.simulators.panel.users import hwid, reads, subscriptions, writes
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
from infrastructure.simulators.panel.wire import Request


@dataclass(frozen=True, slots=True)
class Route:
    """One method and path, its handler, and the code of its failing database."""

    method: str
    pattern: re.Pattern[str]
    handler: Handler
    failure_code: str | None
    """None: the route needs no database."""
    scopes: frozenset[str]
    """A token needs one of them; none: the route is open to all."""

    @property
    def is_transaction(self) -> bool:
        """Return whether the call waits for a locked row for a limited time only."""
        return self.handler is writes.update


@dataclass(frozen=True, slots=True)
class Match:
    """A route that fits, with the text of its parameters."""

    route: Route
    params: tuple[str, ...]


type _Row = tuple[str, str, str, Handler, str | None]
"""Scope within its group, method, path below the group's, handler, failure code."""

# Earlier routes win, so that `stream` is not taken for an id. The codes of create,
# PATCH, disable, list, stream and the look-ups were observed, the others are of the
# catalogue; so are the scopes of all that is not about users or the system.
_USERS: Final[tuple[_Row, ...]] = (
    ("list", "GET", "", reads.page, "A024"),
    ("create", "POST", "", writes.create, "A018"),
    ("update", "PATCH", "", writes.update, "A039"),
    ("stream", "GET", "/stream", reads.stream, "A024"),
    ("resolve", "POST", "/resolve", reads.resolve, "A026"),
    ("by-username", "GET", "/by-username/*", reads.by_username, "A026"),
    ("by-id", "GET", "/*", reads.by_id, "A026"),
    ("delete", "DELETE", "/*", writes.delete, "A037"),
    ("enable", "POST", "/*/actions/enable", writes.enable, "A031"),
    ("disable", "POST", "/*/actions/disable", writes.disable, "A028"),
    ("reset-traffic", "POST", "/*/actions/reset-traffic", writes.reset_traffic, "A056"),
    ("extend", "POST", "/*/actions/extend", writes.extend, "A039"),
    ("revoke-subscription", "POST", "/*/actions/revoke", writes.revoke, "A039"),
)
_DEVICES: Final[tuple[_Row, ...]] = (
    ("create", "POST", "", hwid.add, "A001"),
    ("delete", "POST", "/delete", hwid.delete, "A001"),
    ("delete-all", "POST", "/delete-all", hwid.delete_all, "A001"),
    ("list-by-user", "GET", "/*", hwid.devices, "A001"),
)
_SUBSCRIPTIONS: Final[tuple[_Row, ...]] = (
    ("by-id", "GET", "/by-id/*", subscriptions.by_id, "A001"),
)
_LINKS: Final[tuple[_Row, ...]] = (("", "GET", "/*", subscriptions.links, "A001"),)
_SQUADS: Final[tuple[_Row, ...]] = (("list", "GET", "", reads.internal_squads, "A001"),)
_NODES: Final[tuple[_Row, ...]] = (("list", "GET", "", reads.nodes, "A001"),)
_SYSTEM: Final[tuple[_Row, ...]] = (
    ("metadata", "GET", "/metadata", reads.metadata, None),
)
_GROUPS: Final = (
    ("users", "/api/users", _USERS),
    ("hwid-user-devices", "/api/hwid/devices", _DEVICES),
    ("subscriptions", "/api/subscriptions", _SUBSCRIPTIONS),
    ("", "/api/sub", _LINKS),  # open to whoever knows the link
    ("internal-squads", "/api/internal-squads", _SQUADS),
    ("nodes", "/api/nodes", _NODES),
    ("system", "/api/system", _SYSTEM),
)


def _route(group: str, base: str, row: _Row) -> Route:
    scope, method, path, handler, failure = row
    pattern = re.compile((base + path).replace("*", "([^/]+)"), re.IGNORECASE)
    only_looks = method == "GET" or handler is reads.resolve
    kind = "read" if only_looks else "write"
    sufficient = {"*", f"{group}:{scope}", f"{group}:{kind}"} if group else set[str]()
    return Route(method, pattern, handler, failure, frozenset(sufficient))


_ROUTES: Final = tuple(
    _route(group, base, row) for group, base, rows in _GROUPS for row in rows
)


def find_route(method: str, path: str) -> Match | None:
    """Return the route of this method and path without query."""
    path = path.removesuffix("/")
    for route in _ROUTES:
        if route.method == method and (match := route.pattern.fullmatch(path)):
            return Match(route, tuple(unquote(text) for text in match.groups()))
    return None


def carry_out(
    directory: Directory, match: Match, request: Request, body: object, now: int
) -> Result:
    """Return what the call does and answers; whatever is wrong with it is an answer."""
    query = request.target.partition("?")[2]
    call = Call(
        target=request.target,
        now=now,
        params=match.params,
        query=dict(parse_qsl(query, keep_blank_values=True)),
        body=body,
        headers=request.headers,
    )
    try:
        return match.route.handler(directory, call)
    except InvalidBodyError as error:
        return Result(validation_error(error.issues))
    except reads.FractionError:
        return Result(internal_error())
    except UnstorableError:
        return call.error(match.route.failure_code or "A001")
