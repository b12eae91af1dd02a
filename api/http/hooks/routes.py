"""Routes of callbacks: one that providers call, one by which people have them replayed.

A provider has no credential here: the signature of the raw body is all that counts, and
whatever comes is on record before it is answered.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from litestar import Request, Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter, RawBody

from api.http.authentication.credentials import address_of
from api.http.authentication.guard import SERVICES
from api.http.authentication.rates import count
from api.http.call import Call
from api.http.hooks.views import (
    ReplayedView,
    TakenView,
    replayed_view,
    standing_view,
    taken_view,
)
from api.http.keyed import Made, answered
from api.http.problems.catalogue import (
    CALLBACK_REJECTED,
    PAYLOAD_TOO_LARGE,
    QUOTA_EXCEEDED,
)
from api.http.problems.problem import ProblemError
from api.http.route import Key, route
from api.http.services import HttpServices
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given
from application.callbacks.callback import REJECTED
from application.callbacks.record import BODY_TOO_LARGE, LARGEST_BODY_BYTES, Receipt
from application.callbacks.replay import WHAT
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from domain.access.people import site_of
from domain.access.permissions import Permission


@route(
    "POST",
    "/{provider:str}",
    permission=None,
    is_open=True,
    is_reasoned=False,
    media=("application/json",),
    problems=(CALLBACK_REJECTED, QUOTA_EXCEEDED),
)
def take_callback(
    provider: FromPath[str],
    body: RawBody,
    request: Request[Any, Any, Any],
    tenant: Annotated[
        str,
        QueryParameter(
            description="Whose provider it is", min_length=1, max_length=128
        ),
    ] = "default",
) -> TakenView:
    """Take what a provider tells by itself.

    It takes no credential but its signature, as Standard Webhooks say.  It is on record
    before this is answered, refused ones too.
    """
    services = _services(request)
    # Of a whole site: whoever has one has addresses without end (IPv6).
    site = site_of(address_of(request))
    count(request, services.access.limiter.take(f"hook:{site}"))
    headers = dict(request.headers.items())
    receipt = services.callbacks.record(tenant, provider, headers, body)
    if receipt.status != REJECTED:
        return taken_view(receipt)
    if receipt.code == BODY_TOO_LARGE:
        detail = f"a callback has at most {LARGEST_BODY_BYTES:,} bytes"
        raise ProblemError(PAYLOAD_TOO_LARGE, detail)
    # Not why: whoever guesses secrets, or which providers there are, learns nothing.
    detail = "it is not signed as was agreed, or too old or too new; it is on record"
    raise ProblemError(CALLBACK_REJECTED, detail)


@route(
    "POST",
    "/system/webhooks/{callback_id:str}/replay",
    permission=Permission.WEBHOOKS_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("state_conflict", "no_key"),
)
def replay_callback(
    callback_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ReplayedView]:
    """Tell a callback to its delivery again.

    Only one that has failed or was ignored.
    """
    id_ = given(callback_id, Prefix.CALLBACK)
    done: list[Receipt] = []

    def carry_out(instruction: Instruction) -> Made:
        told = call.services.callbacks.replay(str(id_), instruction)
        done.append(told)
        return Made(WHAT, str(id_), position=told.position)

    def show(made: Made) -> Response[ReplayedView]:
        if done and made.position is not None:
            return Response(replayed_view(done[0]))
        found = call.services.callbacks.book.find(id_)
        if found is None:
            raise NotFoundError(WHAT, str(id_))
        at = call.services.queries.projections().last
        return Response(standing_view(found, at))

    return answered(call, carry_out, show)


def _services(request: Request[Any, Any, Any]) -> HttpServices:
    services: HttpServices = request.scope["state"][SERVICES]
    return services


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of callbacks on that surface."""
    if surface is Surface.HOOKS:
        return (take_callback,)
    return (replay_callback,) if surface in OPERATORS else ()
