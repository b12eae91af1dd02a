"""Routes of events and streams, for operators alone."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from api.http.call import REASON, Call
from api.http.events.query import EventQuery, event_query
from api.http.events.views import (
    EventAsOfView,
    EventDetailView,
    EventPageView,
    EventsView,
    event_detail_view,
    event_view,
)
from api.http.lists.cursors import INVALID_CURSOR, Cursor, Scope, seal, unseal
from api.http.lists.query import FromCursor, Limit
from api.http.problems.catalogue import JOBS_UNAVAILABLE, REASON_REQUIRED
from api.http.problems.problem import Mistake, ProblemError
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given
from api.http.wire.values import moment, position
from application.access.looks import Held
from application.errors import NotFoundError
from domain.access.permissions import Permission
from projections.log_event import LogEvent
from projections.queries.events.search import EventsWanted
from projections.queries.page import DEFAULT

_EVENTS: Final = "events"
_NEWEST: Final = "-position"
_LAST: Final = (1 << 63) - 1


@route(
    "GET",
    "/events",
    permission=Permission.EVENTS_READ,
    query=event_query,
    problems=(INVALID_CURSOR,),
)
def list_events(
    wanted: NamedDependency[EventQuery], call: NamedDependency[Call]
) -> Response[EventsView]:
    """Search the log, the newest first: by stream, story, type, actor and time.

    Who, what and when; what an event holds is told one by one.
    """
    return _searched(call, wanted)


def _searched(call: Call, query: EventQuery) -> Response[EventsView]:
    scope = Scope(of=_EVENTS, tenant_id=call.tenant_id, filter=query.text, sort=_NEWEST)
    secret = call.services.cursor_secret()
    before = None
    if query.cursor is not None:
        before = int(unseal(query.cursor, scope, secret).place)
    page = call.services.queries.found_events(
        EventsWanted(
            tenant_id=call.tenant_id,
            stream_id=query.stream,
            correlation_id=query.correlation_id,
            types=query.types,
            actor=query.actor,
            since=query.since,
            until=query.until,
            before=before,
            limit=query.limit,
        )
    )
    following = None
    if page.next is not None:
        cursor = Cursor(place=str(page.next), is_back=False, position=page.horizon)
        following = seal(cursor, scope, secret)
    return Response(
        EventsView(
            items=tuple(map(event_view, page.items)),
            page=EventPageView(next=following, limit=query.limit),
            as_of=EventAsOfView(position=position(page.horizon), at=moment(page.now)),
        )
    )


@route(
    "GET",
    "/streams/{stream_id:str}/events",
    permission=Permission.EVENTS_READ,
    problems=("not_found", INVALID_CURSOR),
)
def list_stream(
    stream_id: FromPath[str],
    call: NamedDependency[Call],
    cursor: FromCursor = None,
    limit: Limit = DEFAULT,
) -> Response[EventsView]:
    """Tell what happened to one thing, the newest first."""
    return _of_stream(call, given(stream_id, *Prefix), cursor, limit)


@route(
    "GET",
    "/jobs/{job_id:str}/events",
    permission=Permission.EVENTS_READ,
    problems=("not_found", INVALID_CURSOR),
)
def list_job_events(
    job_id: FromPath[str],
    call: NamedDependency[Call],
    cursor: FromCursor = None,
    limit: Limit = DEFAULT,
) -> Response[EventsView]:
    """Tell what happened to one job, the newest first."""
    return _of_stream(call, given(job_id, Prefix.JOB), cursor, limit)


def _of_stream(
    call: Call, stream: UUID, cursor: str | None, limit: int
) -> Response[EventsView]:
    query = EventQuery(
        stream=stream,
        types=(),
        correlation_id=None,
        actor=None,
        since=None,
        until=None,
        cursor=cursor,
        limit=limit,
    )
    answer = _searched(call, query)
    if not answer.content.items and cursor is None:
        what = "stream"
        raise NotFoundError(what, str(stream))
    return answer


@route(
    "GET",
    "/events/{position:str}",
    permission=Permission.EVENTS_READ,
    problems=(
        "not_found",
        "forbidden",
        "insufficient_scope",
        REASON_REQUIRED,
        JOBS_UNAVAILABLE,
    ),
)
def get_event(
    position: FromPath[str],
    call: NamedDependency[Call],
    unmask: Annotated[
        Literal["true"] | None,
        QueryParameter(
            name="unmask",
            description=(
                "Tell what it holds. It needs events:unmask and a reason; the look is "
                "on record before anything is told."
            ),
        ),
    ] = None,
) -> Response[EventDetailView]:
    """Tell one event, by its position."""
    event = _event(call, position)
    payload = _unmasked(call, event) if unmask is not None else None
    return Response(event_detail_view(event, payload))


def _event(call: Call, text: str) -> LogEvent:
    what = "event"
    if not text.isascii() or not text.isdigit() or int(text[:20]) > _LAST:
        raise NotFoundError(what, text[:64])
    event = call.services.queries.event(int(text[:20]), call.tenant_id)
    if event is None:
        raise NotFoundError(what, text[:64])
    return event


def _unmasked(call: Call, event: LogEvent) -> dict[str, object]:
    if not (call.header(REASON) or "").strip():
        rule = f"say why in the header {REASON}"
        mistake = Mistake(parameter=REASON, code=REASON_REQUIRED, detail=rule)
        raise ProblemError(REASON_REQUIRED, rule, mistakes=(mistake,))
    if call.services.is_read_only:
        detail = "a look at what an event holds is on record; this process only reads"
        raise ProblemError(JOBS_UNAVAILABLE, detail, headers={"Retry-After": "60"})
    held = Held(
        position=event.position,
        tenant_id=event.tenant_id,
        stream_id=event.stream_id,
        type=event.type,
        correlation_id=event.meta.correlation_id,
    )
    call.services.view_payload(held, call.instruction())
    return dict(call.services.queries.event.payload(event.position, event.tenant_id))


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of events."""
    if surface not in OPERATORS:
        return ()
    return list_events, get_event, list_stream, list_job_events
