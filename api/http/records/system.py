"""The panel's own view of operations: what needs a human, and what one went through.

Paths, parameters and members are those of the panel that people know.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final
from uuid import UUID

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from api.http.call import Call
from api.http.lists.page import asked_page
from api.http.lists.query import FromCursor, ListQuery
from api.http.records.operations import OFFER
from api.http.records.problems import LIST_PROBLEMS
from api.http.route import route
from api.http.surface import Surface
from api.http.wire.ids import Prefix, given, told
from api.http.wire.values import Moment, moment, moment_if
from application.errors import NotFoundError
from domain.access.permissions import Permission
from projections.queries.attempts import AttemptLine, HistoryFilter
from projections.queries.page import MOST
from projections.queries.records.operations import OperationLine

_OPERATION: Final = "operation"
_NEEDS_A_HUMAN: Final = "state:failed"
_PAGE: Final = 25
_MOST_LINES: Final = 1_000

PageSize = Annotated[
    int, QueryParameter(name="pageSize", description="Items a page.", ge=1, le=MOST)
]


class SystemJobView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One operation, as the panel has always shown it."""

    id: str
    entitlement_id: str
    customer_id: str | None
    operation: str
    status: str
    attempt_count: int
    next_attempt_at: Moment | None
    last_error_code: str | None
    correlation_id: str
    created_at: Moment
    completed_at: Moment | None


class SystemJobsView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of them."""

    items: tuple[SystemJobView, ...]
    next_cursor: str | None
    """Null: here the list ends."""


class HistoryView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One step of an operation."""

    status: str
    correlation_id: str
    error_code: str | None
    occurred_at: Moment


class SystemHistoryView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an operation went through, the oldest first."""

    items: tuple[HistoryView, ...]


def system_query(
    status: Annotated[
        str | None,
        QueryParameter(
            name="status", description="One state; without it, what needs a human."
        ),
    ] = None,
    operation: Annotated[
        str | None, QueryParameter(name="operation", description="`create`, `extend` …")
    ] = None,
    entitlement_id: Annotated[
        str | None, QueryParameter(name="entitlementId", description="Whose.")
    ] = None,
    cursor: FromCursor = None,
    page_size: PageSize = _PAGE,
) -> ListQuery:
    """Return what was asked for, as any list is."""
    terms = (("operation", operation), ("entitlement", entitlement_id))
    asked = [_NEEDS_A_HUMAN if status is None else _term("state", status)]
    asked += [_term(name, value) for name, value in terms if value is not None]
    return ListQuery(
        filter=" ".join(asked),
        cursor=cursor,
        limit=page_size,
        sort=None,
        is_counted=False,
        at_position=None,
    )


def _term(name: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}:"{escaped}"'


@route(
    "GET",
    "/system/jobs",
    permission=Permission.OPERATIONS_READ,
    query=system_query,
    problems=LIST_PROBLEMS,
)
def list_system_jobs(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[SystemJobsView]:
    """List operations; those that need a human, when nothing is asked for."""
    page, cursors = asked_page(call, wanted, OFFER, call.services.queries.operations)
    items = tuple(map(_view, page.items))
    return Response(SystemJobsView(items=items, next_cursor=cursors.next))


def _view(line: OperationLine) -> SystemJobView:
    return SystemJobView(
        id=told(Prefix.OPERATION, line.stream_id),
        entitlement_id=told(Prefix.ENTITLEMENT, line.entitlement_id),
        customer_id=line.customer_id,
        operation=line.operation,
        status=line.state,
        attempt_count=line.attempts,
        next_attempt_at=moment_if(line.next_attempt_at),
        last_error_code=line.code,
        correlation_id=line.correlation_id,
        created_at=moment(line.created_at),
        completed_at=moment_if(line.completed_at),
    )


@route(
    "GET",
    "/system/jobs/{operation_id:str}/history",
    permission=Permission.OPERATIONS_READ,
    problems=("not_found",),
)
def get_system_history(
    operation_id: FromPath[str], call: NamedDependency[Call]
) -> Response[SystemHistoryView]:
    """Tell what an operation went through: states, codes and times, nothing else."""
    id_ = given(operation_id, Prefix.OPERATION)
    lines = tuple(_history(call, id_))
    if not lines:
        raise NotFoundError(_OPERATION, operation_id[:64])
    items = tuple(
        HistoryView(
            status=line.status,
            correlation_id=line.correlation_id,
            error_code=line.error_code or line.code,
            occurred_at=moment(line.recorded_at),
        )
        for line in lines
        if line.status is not None
    )
    return Response(SystemHistoryView(items=items))


def _history(call: Call, id_: UUID) -> Iterator[AttemptLine]:
    """Yield the steps of the caller's operation; of very many, the first ones."""
    after: int | None = 0
    n = 0
    while after is not None and n < _MOST_LINES:
        wanted = HistoryFilter(key=str(id_), tenant_id=call.tenant_id, after=after)
        found = call.services.queries.attempts(wanted)
        if found is None or found.of != _OPERATION:
            return
        for line in found.items:
            if line.tenant_id == call.tenant_id:
                n += 1
                yield line
        after = found.next


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the panel's own routes."""
    return (list_system_jobs, get_system_history) if surface is Surface.PANEL else ()
