"""Operations on the panel: lists, one, and the panel's own view of them."""

from collections.abc import Sequence

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.lists.page import Offer, listed
from api.http.lists.query import AtPosition, ListQuery, list_query
from api.http.lists.views import ListView
from api.http.records.detail import Sought, detailed
from api.http.records.problems import DETAIL_PROBLEMS, LIST_PROBLEMS
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Moment, moment, moment_if
from domain.access.permissions import Permission
from projections.queries.grammar.declared import OPERATION_WORDS
from projections.queries.records.operations import OPERATIONS, OperationLine
from projections.reading import AsOf

OFFER = Offer(name="operations", vocabulary=OPERATION_WORDS, listing=OPERATIONS)


class OperationView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One operation on a customer's access."""

    id: str
    state: str
    """`pending`, `running`, `retrying`, `failed`, `succeeded` or `cancelled`."""
    operation: str
    entitlement_id: str
    customer_id: str | None
    """Null: the entitlement is not in its list yet."""
    slot: int | None
    order_id: str | None
    """The order that is fulfilled when it succeeds: ours."""
    shop_order_id: str | None
    desired_version: int
    attempts: int
    code: str | None
    """What the last unfinished or final attempt met."""
    parked_cause: str | None
    next_attempt_at: Moment | None
    effective_at: Moment
    covered_by: str | None
    """A later operation that carries what this one was to."""
    correlation_id: str
    created_at: Moment
    updated_at: Moment
    completed_at: Moment | None


def operation_view(line: OperationLine, _shown: AsOf) -> OperationView:
    """Return one operation."""
    return OperationView(
        id=told(Prefix.OPERATION, line.stream_id),
        state=line.state,
        operation=line.operation,
        entitlement_id=told(Prefix.ENTITLEMENT, line.entitlement_id),
        customer_id=line.customer_id,
        slot=line.slot,
        order_id=told_if(Prefix.ORDER, line.order_stream_id),
        shop_order_id=line.order_id,
        desired_version=line.desired_version,
        attempts=line.attempts,
        code=line.code,
        parked_cause=line.parked_cause,
        next_attempt_at=moment_if(line.next_attempt_at),
        effective_at=moment(line.effective_at),
        covered_by=told_if(Prefix.OPERATION, line.covered_by),
        correlation_id=line.correlation_id,
        created_at=moment(line.created_at),
        updated_at=moment(line.updated_at),
        completed_at=moment_if(line.completed_at),
    )


@route(
    "GET",
    "/operations",
    permission=Permission.OPERATIONS_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_operations(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[ListView[OperationView]]:
    """List operations, the newest first."""
    ask = call.services.queries.operations
    return listed(call, wanted, OFFER, ask, operation_view)


@route(
    "GET",
    "/operations/{operation_id:str}",
    permission=Permission.OPERATIONS_READ,
    problems=DETAIL_PROBLEMS,
)
def get_operation(
    operation_id: FromPath[str],
    call: NamedDependency[Call],
    at_position: AtPosition = None,
) -> Response[OperationView]:
    """Tell one operation."""
    sought = Sought(Prefix.OPERATION, operation_id, at_position)
    return detailed(call, sought, call.services.queries.operations, operation_view)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of operations."""
    return (list_operations, get_operation) if surface in OPERATORS else ()
