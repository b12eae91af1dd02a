"""Routes of drifts."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Final, Literal

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter
from msgspec.structs import replace

from api.http.call import Call
from api.http.drifts.views import (
    REPAIRED,
    RESOLVED,
    DriftsView,
    ReconciledView,
    drift_view,
    reconciled_view,
)
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given
from application.errors import NotFoundError
from domain.access.permissions import Permission
from domain.entitlement.drift import KINDS
from projections.queries.page import MOST
from projections.queries.records.drifts import DriftLine
from projections.queries.terms import TENANT, Among, Asked

_WHAT: Final = "drift"
_OPEN: Final = "open"


@route("GET", "/fulfillment/drifts", permission=Permission.DRIFT_READ)
def list_open(
    call: NamedDependency[Call],
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> DriftsView:
    """List the drifts that are open, the newest first."""
    return _listed(call, _OPEN, limit)


@route("GET", "/system/drift", permission=Permission.DRIFT_READ)
def list_drifts(
    call: NamedDependency[Call],
    status_: Annotated[
        Literal["open", "repaired"], QueryParameter(name="status")
    ] = "open",
    page_size: Annotated[int, QueryParameter(name="pageSize", ge=1, le=200)] = 25,
) -> DriftsView:
    """List drifts, the newest first."""
    return _listed(call, RESOLVED if status_ == REPAIRED else _OPEN, page_size)


def _listed(call: Call, state: str, limit: int) -> DriftsView:
    found = islice(_drifts(call, state, min(limit, MOST)), limit)
    return DriftsView(items=tuple(drift_view(line) for line in found))


def _drifts(call: Call, state: str, size: int) -> Iterator[DriftLine]:
    """Yield the caller's drifts, page by page."""
    asked = Asked(
        terms=(Among("state", (state,)), Among(TENANT, (call.tenant_id,))), limit=size
    )
    while True:
        page = call.services.queries.drifts(asked)
        yield from page.items
        if page.next is None:
            return
        asked = replace(asked, after=page.next)


@route(
    "POST",
    "/drifts/{drift_id:str}/reconcile",
    permission=Permission.DRIFT_WRITE,
    status=202,
    problems=("state_conflict",),
)
def reconcile_drift(
    drift_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ReconciledView]:
    """Ask for a reconciliation of the access that has drifted.

    It looks at all of it and repairs what differs; one per quarter of an hour.
    """
    entitlement, _, kind = drift_id.rpartition(".")
    if kind not in KINDS:
        raise NotFoundError(_WHAT, drift_id)
    of = given(entitlement, Prefix.DRIFT)
    operated = call.services.reconcile_drift(
        str(of), call.tenant_id, call.instruction()
    )
    return Response(reconciled_view(operated), headers={"Retry-After": "2"})


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of drifts on that surface."""
    if surface not in OPERATORS:
        return ()
    listing = list_open if surface is Surface.ADMIN else list_drifts
    return (listing, reconcile_drift)
