"""Routes of bulk operations: for operators, by token or session."""

from collections.abc import Sequence
from typing import Annotated, Final

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody, QueryParameter

from api.http.bulk.bodies import BulkRequest
from api.http.bulk.paging import BulkItemsView, BulksView, bulks, items
from api.http.bulk.views import BulkView, shown
from api.http.call import Call
from api.http.keyed import Made, answered
from api.http.route import Key, Match, route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given, told
from api.http.wire.match import seen
from application.bulk.request import KIND
from application.bulk.steer import APPROVE, CANCEL, PAUSE, RESUME, START, Step
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from domain.access.permissions import Permission
from projections.queries.bulk.operations import BulkLine
from projections.queries.page import DEFAULT, MOST

Cursor = Annotated[
    str | None, QueryParameter(name="cursor", description="Where to go on: `page.next`")
]
Limit = Annotated[
    int, QueryParameter(name="limit", description="Items a page.", ge=1, le=MOST)
]

_WHAT: Final = "bulk operation"


@route(
    "POST",
    "/bulk-operations",
    permission=Permission.BULK_WRITE,
    status=201,
    key=Key.REQUIRED,
    problems=("empty_filter", "bulk_limit", "invalid_filter"),
)
def request_bulk(
    data: JSONBody[BulkRequest], call: NamedDependency[Call]
) -> Response[BulkView]:
    """Ask for one action on many things.

    It is previewed, and begins when it is started.  What it is about is frozen: ids at
    once, a filter at one moment of the preview.  An operator asks for 100 things at
    most; others for 1,000, or 100,000 when another person approves of it.
    """
    wanted = data.wanted()

    def carry_out(instruction: Instruction) -> Made:
        asked = call.services.request_bulk(wanted, instruction)
        return Made(KIND, str(asked.bulk_id), position=asked.position)

    return answered(
        call,
        carry_out,
        lambda made: shown(call.surface, _line(call, made.id)),
        body=data,
    )


@route("GET", "/bulk-operations", permission=Permission.JOBS_READ)
def list_bulk(
    call: NamedDependency[Call], cursor: Cursor = None, limit: Limit = DEFAULT
) -> BulksView:
    """List bulk operations, the newest first."""
    return bulks(call, cursor, limit)


@route("GET", "/bulk-operations/{bulk_id:str}", permission=Permission.JOBS_READ)
def get_bulk(bulk_id: FromPath[str], call: NamedDependency[Call]) -> Response[BulkView]:
    """Show one bulk operation: how far it is, and what would become of its items.

    Its ETag is what `If-Match` of the steps is to be.
    """
    return shown(call.surface, _line(call, bulk_id))


@route("GET", "/bulk-operations/{bulk_id:str}/items", permission=Permission.JOBS_READ)
def list_bulk_items(
    bulk_id: FromPath[str],
    call: NamedDependency[Call],
    cursor: Cursor = None,
    limit: Limit = DEFAULT,
) -> BulkItemsView:
    """List the items of a bulk operation, in the order in which they are begun."""
    return items(call, _line(call, bulk_id), cursor, limit)


@route(
    "POST",
    "/bulk-operations/{bulk_id:str}/approve",
    permission=Permission.BULK_APPROVE,
    key=Key.TAKEN,
    match=Match.REQUIRED,
    problems=("state_conflict", "self_approval"),
)
def approve_bulk(
    bulk_id: FromPath[str], call: NamedDependency[Call]
) -> Response[BulkView]:
    """Let a bulk operation of somebody else begin."""
    return _steered(call, APPROVE, bulk_id)


@route(
    "POST",
    "/bulk-operations/{bulk_id:str}/start",
    permission=Permission.BULK_WRITE,
    status=202,
    key=Key.TAKEN,
    match=Match.REQUIRED,
    problems=("state_conflict",),
)
def start_bulk(
    bulk_id: FromPath[str], call: NamedDependency[Call]
) -> Response[BulkView]:
    """Begin to carry out a bulk operation that is ready.

    Each item is decided anew, and done at most once.
    """
    return _steered(call, START, bulk_id)


@route(
    "POST",
    "/bulk-operations/{bulk_id:str}/pause",
    permission=Permission.BULK_WRITE,
    key=Key.TAKEN,
    match=Match.REQUIRED,
    problems=("state_conflict",),
)
def pause_bulk(
    bulk_id: FromPath[str], call: NamedDependency[Call]
) -> Response[BulkView]:
    """Begin no further item until it is resumed."""
    return _steered(call, PAUSE, bulk_id)


@route(
    "POST",
    "/bulk-operations/{bulk_id:str}/resume",
    permission=Permission.BULK_WRITE,
    status=202,
    key=Key.TAKEN,
    match=Match.REQUIRED,
    problems=("state_conflict",),
)
def resume_bulk(
    bulk_id: FromPath[str], call: NamedDependency[Call]
) -> Response[BulkView]:
    """Go on with the first item that was not begun."""
    return _steered(call, RESUME, bulk_id)


@route(
    "POST",
    "/bulk-operations/{bulk_id:str}/cancel",
    permission=Permission.BULK_WRITE,
    key=Key.TAKEN,
    match=Match.REQUIRED,
    problems=("state_conflict",),
)
def cancel_bulk(
    bulk_id: FromPath[str], call: NamedDependency[Call]
) -> Response[BulkView]:
    """Begin no further item for good; what was done stays done.

    `progress.left` says how many were not begun.
    """
    return _steered(call, CANCEL, bulk_id)


def _steered(call: Call, step: Step, bulk_id: str) -> Response[BulkView]:
    id_ = given(bulk_id, Prefix.BULK)
    versions = seen(call, told(Prefix.BULK, id_))

    def carry_out(instruction: Instruction) -> Made:
        done = call.services.steer_bulk(step, id_, instruction, versions)
        return Made(KIND, str(id_), done.events, done.position)

    return answered(
        call, carry_out, lambda made: shown(call.surface, _line(call, made.id))
    )


def _line(call: Call, text: str) -> BulkLine:
    id_ = given(text, Prefix.BULK)
    found = call.services.queries.bulk.one(call.tenant_id, id_)
    if found is None:
        raise NotFoundError(_WHAT, text[:64])
    return found


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of bulk operations on that surface."""
    if surface not in OPERATORS:
        return ()
    return (
        request_bulk,
        list_bulk,
        get_bulk,
        list_bulk_items,
        approve_bulk,
        start_bulk,
        pause_bulk,
        resume_bulk,
        cancel_bulk,
    )
