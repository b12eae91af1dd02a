"""Routes of what happens now."""

import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Final

import msgspec
from litestar import Response
from litestar.concurrency import sync_to_thread
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from litestar.response import Stream

from api.http.authentication.credentials import asking
from api.http.call import Call
from api.http.live.following import Follower, TooFarBehindError, is_too_far
from api.http.live.frames import BEAT, RESET, ChangeView, frames, opening, views
from api.http.problems.catalogue import (
    FORBIDDEN,
    INSUFFICIENT_SCOPE,
    INVALID_REQUEST,
)
from api.http.problems.problem import ProblemError, misfit
from api.http.route import ROUTE, route
from api.http.surface import Surface
from api.http.wire.values import Position, position
from domain.access.permissions import Permission
from domain.errors import CounterfoilError
from projections.queries import changes

_AUTHORISED_SECONDS: Final = 60.0
_LONGEST_NUMBER: Final = 19
_NEEDED: Final = {
    changes.JOBS: Permission.JOBS_READ,
    changes.OPERATIONS: Permission.OPERATIONS_READ,
    changes.DELIVERIES: Permission.DELIVERIES_READ,
    changes.ORDERS: Permission.ORDERS_READ,
    changes.MAINTENANCE: Permission.MAINTENANCE_READ,
}
_TOO_MANY: Final = "too_many_streams"
_TOPICS: Final = "topics"
_STREAM_HEADERS: Final = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}

Topics = Annotated[
    str | None,
    QueryParameter(
        description="Of jobs, operations, deliveries, orders, maintenance, with commas;"
        " without it all that may be seen"
    ),
]
After = Annotated[
    str | None,
    QueryParameter(
        description="Go on behind this position; without it from now on",
        pattern="^[0-9]{1,19}$",
    ),
]

Limit = Annotated[int, QueryParameter(ge=1, le=500)]


class ChangesView(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed behind a position."""

    items: tuple[ChangeView, ...]
    next: Position
    """Where to go on."""
    reset: bool
    """Whether too much was missed to be told: load anew what is shown."""


@route(
    "GET",
    "/stream",
    permission=None,
    gives=("text/event-stream",),
    problems=(_TOO_MANY, FORBIDDEN),
)
async def follow_changes(
    call: NamedDependency[Call], topics: Topics = None, after: After = None
) -> Stream:
    """Follow what happens, as server-sent events.

    Each event's id is a position of the log: a client that comes back sends it as
    `Last-Event-ID`.  Frames come at most four times a second, of each thing the last
    change; a `reset` says that too much was missed.
    """
    wanted = _topics(call, topics)
    last = call.header("last-event-id")
    begin = _number(last if last is not None else after, "Last-Event-ID")
    feed = call.services.feed
    if feed.n_followers >= feed.limits.followers:
        detail = "follow by GET /changes meanwhile, or ask another process"
        headers = {"Retry-After": "5"}
        raise ProblemError(_TOO_MANY, detail, headers=headers)
    follower = Follower(feed, call.services.changes, begin)
    return Stream(
        _told(call, follower, wanted),
        media_type="text/event-stream",
        headers=_STREAM_HEADERS,
    )


async def _told(
    call: Call, follower: Follower, wanted: frozenset[str]
) -> AsyncIterator[bytes]:
    """Yield the stream's bytes, for as long as whoever follows may."""
    checked_at = time.monotonic()
    is_open = False
    counts = call.services.counts
    counts.follows(1)
    try:
        async for found in follower.follow():
            if time.monotonic() - checked_at > _AUTHORISED_SECONDS:
                await sync_to_thread(_check_again, call)
                checked_at = time.monotonic()
            if found is None:
                yield BEAT
            elif not is_open:
                is_open = True
                yield opening(found)
            elif shown := views(found, call.tenant_id, wanted):
                yield frames(shown)
    except TooFarBehindError:
        counts.dropped()
        yield RESET
    except (ProblemError, CounterfoilError):
        # Whoever follows comes back, and is told what is wrong, or what was missed.
        return
    finally:
        counts.follows(-1)


def _check_again(call: Call) -> None:
    """Raise when the credential is no good any more; nobody has used it just now."""
    declared = call.request.scope["route_handler"].opt[ROUTE]
    asking(call.request, call.services, call.surface, declared, is_use=False)


@route("GET", "/changes", permission=None, problems=(FORBIDDEN,))
def list_changes(
    call: NamedDependency[Call],
    topics: Topics = None,
    after: After = None,
    limit: Limit = 500,
) -> Response[ChangesView]:
    """List what has changed behind a position.

    For whoever cannot hold a stream open: ask again with `after` = `next`.
    """
    wanted = _topics(call, topics)
    begin = _number(after, "after")
    log = call.services.changes
    if begin is None:
        return Response(ChangesView(items=(), next=position(log.end()), reset=False))
    end = log.end()
    if is_too_far(call.services.feed, log, begin, end):
        return Response(ChangesView(items=(), next=position(end), reset=True))
    found = log.beyond(begin, limit)
    items = views(found, call.tenant_id, wanted)
    view = ChangesView(items=items, next=position(found.position), reset=False)
    return Response(view)


def _topics(call: Call, given: str | None) -> frozenset[str]:
    """Return the topics that were asked for, or all that may be seen.

    Raises:
        ProblemError: there is none of that name, or it may not be seen.
    """
    allowed = call.principal.permissions
    if given is None:
        return frozenset(each for each, need in _NEEDED.items() if need in allowed)
    wanted = frozenset(given.split(","))
    if wanted - _NEEDED.keys():
        raise _invalid(_TOPICS, f"one or more of {', '.join(_NEEDED)}")
    for each in sorted(wanted):
        if _NEEDED[each] not in allowed:
            is_person = call.principal.role is not None
            code = FORBIDDEN if is_person else INSUFFICIENT_SCOPE
            raise ProblemError(code, f"{each} needs the permission {_NEEDED[each]}")
    return wanted


def _number(given: str | None, name: str) -> int | None:
    if given is None:
        return None
    is_number = given.isascii() and given.isdecimal() and len(given) <= _LONGEST_NUMBER
    if not is_number or int(given) >= 1 << 63:
        raise _invalid(name, "a position that the API has told")
    return int(given)


def _invalid(name: str, rule: str) -> ProblemError:
    return misfit(name, rule, INVALID_REQUEST, inner="invalid_parameter")


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of what happens now."""
    return () if surface is Surface.HOOKS else (follow_changes, list_changes)
