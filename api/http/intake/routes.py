"""Routes of intake: 202 when the transaction is committed, and not before."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, UnsetType

from api.http.call import Call
from api.http.intake.bodies import JobRequest, Refund, Settlement
from api.http.intake.views import (
    EnqueuedView,
    OrderView,
    enqueued_view,
    order_view,
)
from api.http.keyed import REPLAYED, Made, answered
from api.http.route import Key, route
from api.http.surface import Surface
from api.http.wire.ids import Prefix, given, told
from api.http.wire.match import etag
from application.errors import NotFoundError
from application.intake.defaults import job_asked, refund_asked, settlement_asked
from application.intake.port import BEFORE, JOB, ORDER
from application.operators.instruction import Instruction
from domain.access.permissions import Permission
from projections.queries.heads.order import OrderRecord

_LATER: Final = {"Retry-After": "2"}


@route(
    "POST",
    "/jobs",
    permission=Permission.JOBS_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("tenant_pending_limit", "total_pending_limit", "key_busy"),
)
def enqueue_job(
    data: JSONBody[JobRequest], call: NamedDependency[Call]
) -> Response[EnqueuedView]:
    """Ask for a job.

    Accepted when it is committed: whatever dies then, it runs.  While an unfinished job
    has its `uniqueKey`, that one is answered, as a `duplicate`.
    """

    def carry_out(instruction: Instruction) -> Made:
        enqueued = call.services.intake.enqueue(data, instruction)
        kind = BEFORE if enqueued.duplicate else JOB
        return Made(kind, str(enqueued.job_id))

    def show(made: Made) -> Response[EnqueuedView]:
        return _job(call, UUID(made.id), duplicate=made.kind == BEFORE)

    return answered(call, carry_out, show, body=job_asked(data))


@route(
    "POST",
    "/orders/settle",
    permission=Permission.ORDERS_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("order_busy",),
)
def settle_order(
    data: JSONBody[Settlement], call: NamedDependency[Call]
) -> Response[OrderView]:
    """Settle an order that was paid.

    Once for each `orderId`, for ever: the same again answers the stored order, other
    content is refused.  Money taken is never refused by a limit.
    """

    def carry_out(instruction: Instruction) -> Made:
        settled = call.services.intake.settle_order(data, instruction)
        kind = BEFORE if settled.replayed else ORDER
        return Made(kind, str(settled.stream_id))

    def show(made: Made) -> Response[OrderView]:
        order = _found(call, UUID(made.id))
        is_again = made.kind == BEFORE
        view = order_view(call.surface, order, replayed=is_again)
        headers = _LATER | {"Location": view.links.self}
        if is_again:
            headers[REPLAYED] = "true"
        return Response(view, headers=headers)

    return answered(call, carry_out, show, body=settlement_asked(data))


@route(
    "POST",
    "/orders/{order_id:str}/refund",
    permission=Permission.ORDERS_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("order_busy",),
)
def refund_order(
    order_id: FromPath[str], data: JSONBody[Refund], call: NamedDependency[Call]
) -> Response[EnqueuedView]:
    """Say that the money of an order went back.

    Once for each order: the same again answers the same.  Its job decides what it
    means.  An order that is not settled here may be told by the shop's own id.
    """
    theirs = _their_id(call, order_id)

    def carry_out(instruction: Instruction) -> Made:
        asked = call.services.intake.refund_order(theirs, data, instruction)
        kind = BEFORE if asked.replayed else JOB
        return Made(kind, str(asked.job_id))

    def show(made: Made) -> Response[EnqueuedView]:
        is_again = made.kind == BEFORE
        response = _job(call, UUID(made.id), order_id=theirs, replayed=is_again)
        if is_again:
            response.headers[REPLAYED] = "true"
        return response

    return answered(call, carry_out, show, body=refund_asked(theirs, data))


@route(
    "GET",
    "/orders/{order_id:str}",
    permission=Permission.ORDERS_READ,
    problems=("not_found",),
)
def get_order(
    order_id: FromPath[str], call: NamedDependency[Call]
) -> Response[OrderView]:
    """Tell where an order stands, by the shop's own id or by ours."""
    order = _order(call, order_id)
    if order is None:
        raise NotFoundError(ORDER, order_id[:64])
    headers = {"ETag": etag(told(Prefix.ORDER, order.stream_id), order.version)}
    if order.state == "paid":
        headers |= _LATER
    return Response(order_view(call.surface, order), headers=headers)


def _order(call: Call, key: str) -> OrderRecord | None:
    """Return the order that somebody means: a shop's id goes before ours."""
    find = call.services.queries.order
    found = find(call.tenant_id, key)
    if found is not None:
        return found
    try:
        return find(call.tenant_id, given(key, Prefix.ORDER))
    except NotFoundError:
        return None


def _their_id(call: Call, key: str) -> str:
    """Return the shop's own id of the order that is meant."""
    order = _order(call, key)
    if order is not None:
        return order.order_id
    if key.startswith(f"{Prefix.ORDER}_"):
        raise NotFoundError(ORDER, key[:64])
    return key


def _found(call: Call, stream_id: UUID) -> OrderRecord:
    order = call.services.queries.order(call.tenant_id, stream_id)
    if order is None:
        raise NotFoundError(ORDER, str(stream_id))
    return order


def _job(
    call: Call,
    job_id: UUID,
    *,
    duplicate: bool | UnsetType = UNSET,
    order_id: str | UnsetType = UNSET,
    replayed: bool | UnsetType = UNSET,
) -> Response[EnqueuedView]:
    job = call.services.queries.record(job_id, call.tenant_id)
    if job is None:
        raise NotFoundError(JOB, str(job_id))
    view = enqueued_view(
        call.surface, job, duplicate=duplicate, order_id=order_id, replayed=replayed
    )
    return Response(view, headers=_LATER | {"Location": view.links.self})


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of intake: shops and programs alone have them."""
    if surface is not Surface.SHOPS:
        return ()
    return enqueue_job, settle_order, refund_order, get_order
