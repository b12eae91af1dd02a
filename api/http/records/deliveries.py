"""Deliveries of goods: lists, and one with all that a review is decided by."""

from collections.abc import Sequence

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.lists.page import Offer, listed
from api.http.lists.query import ListQuery, list_query
from api.http.lists.views import ListView
from api.http.records.delivery_views import (
    DeliveryDetailView,
    DeliveryView,
    delivery_detail_view,
    delivery_view,
)
from api.http.records.problems import LIST_PROBLEMS
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given, told
from api.http.wire.match import etag
from application.errors import NotFoundError
from domain.access.permissions import Permission
from projections.queries.grammar.declared import DELIVERY_WORDS
from projections.queries.records.deliveries import DELIVERIES

_OFFER = Offer(name="deliveries", vocabulary=DELIVERY_WORDS, listing=DELIVERIES)


@route(
    "GET",
    "/deliveries",
    permission=Permission.DELIVERIES_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_deliveries(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[ListView[DeliveryView]]:
    """List deliveries, the newest first.

    Reviews are those that wait for a person: `?f=state:needs_review`.
    """
    ask = call.services.queries.deliveries
    return listed(call, wanted, _OFFER, ask, delivery_view)


@route(
    "GET",
    "/deliveries/{delivery_id:str}",
    permission=Permission.DELIVERIES_READ,
    problems=("not_found",),
)
def get_delivery(
    delivery_id: FromPath[str], call: NamedDependency[Call]
) -> Response[DeliveryDetailView]:
    """Tell one delivery as it is now, with what a review is decided by.

    The recipient is told to those alone who may decide.
    """
    id_ = given(delivery_id, Prefix.DELIVERY)
    found = call.services.queries.dossier(id_)
    if found is None or found.tenant_id != call.tenant_id:
        what = "delivery"
        raise NotFoundError(what, delivery_id[:64])
    may_decide = Permission.DELIVERIES_DECIDE in call.principal.permissions
    view = delivery_detail_view(call.surface, found, may_decide=may_decide)
    headers = {"ETag": etag(told(Prefix.DELIVERY, id_), found.version)}
    return Response(view, headers=headers)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of deliveries that operators look at."""
    return (list_deliveries, get_delivery) if surface in OPERATORS else ()
