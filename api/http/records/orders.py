"""Orders and entitlements: what was paid, what is owed, and how far that is."""

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
from api.http.records.order_facts import OrderFacts, order_facts
from api.http.records.problems import DETAIL_PROBLEMS, LIST_PROBLEMS
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Moment, moment, moment_if
from domain.access.permissions import Permission
from projections.queries.grammar.declared import ORDER_WORDS
from projections.queries.records.orders import ORDERS, OrderLine
from projections.queries.records.waits import Wait
from projections.reading import AsOf

_ORDERS = Offer(name="orders", vocabulary=ORDER_WORDS, listing=ORDERS)


class WaitView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an order waits for."""

    waits_for: str
    operation_id: str | None
    operation_state: str | None
    attempts: int
    code: str | None
    parked_cause: str | None
    next_attempt_at: Moment | None
    job_id: str | None
    job_state: str | None
    deliveries: tuple[str, ...]
    """Its lines of goods."""


class OrderLineView(OrderFacts, frozen=True, kw_only=True, rename="camel"):
    """One order."""

    effective_at: Moment | None
    fulfilled_by: str | None
    """The operation that delivered it."""
    wait: WaitView | None
    """Null: it waits for nothing any more."""
    updated_at: Moment
    fulfilled_at: Moment | None
    refunded_at: Moment | None


def order_line_view(line: OrderLine, _shown: AsOf) -> OrderLineView:
    """Return one order."""
    return OrderLineView(
        **order_facts(line, line.created_at),
        effective_at=moment_if(line.effective_at),
        fulfilled_by=told_if(Prefix.OPERATION, line.fulfilled_by),
        wait=None if line.wait is None else _wait(line.wait),
        updated_at=moment(line.updated_at),
        fulfilled_at=moment_if(line.fulfilled_at),
        refunded_at=moment_if(line.refunded_at),
    )


def _wait(wait: Wait) -> WaitView:
    return WaitView(
        waits_for=wait.waits_for.value,
        operation_id=told_if(Prefix.OPERATION, wait.operation_id),
        operation_state=wait.operation_state,
        attempts=wait.attempts,
        code=wait.code,
        parked_cause=wait.parked_cause,
        next_attempt_at=moment_if(wait.next_attempt_at),
        job_id=told_if(Prefix.JOB, wait.job_id),
        job_state=wait.job_state,
        deliveries=tuple(told(Prefix.DELIVERY, it.delivery_id) for it in wait.goods),
    )


@route(
    "GET",
    "/orders",
    permission=Permission.ORDERS_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_orders(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[ListView[OrderLineView]]:
    """List orders, the newest first, with what the undelivered ones wait for."""
    ask = call.services.queries.orders
    return listed(call, wanted, _ORDERS, ask, order_line_view)


@route(
    "GET",
    "/orders/{order_id:str}",
    permission=Permission.ORDERS_READ,
    problems=DETAIL_PROBLEMS,
)
def get_listed_order(
    order_id: FromPath[str],
    call: NamedDependency[Call],
    at_position: AtPosition = None,
) -> Response[OrderLineView]:
    """Tell one order, by our id."""
    sought = Sought(Prefix.ORDER, order_id, at_position)
    return detailed(call, sought, call.services.queries.orders, order_line_view)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of orders that operators look at."""
    return (list_orders, get_listed_order) if surface in OPERATORS else ()
