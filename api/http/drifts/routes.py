"""Routes of drifts."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final, Literal
from uuid import UUID

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
    standing_view,
)
from api.http.keyed import Made, answered
from api.http.route import Key, route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from domain.access.permissions import Permission
from domain.entitlement.drift import KINDS
from projections.queries.heads.operation import OperationRecord
from projections.queries.page import MOST
from projections.queries.records.drifts import DriftLine
from projections.queries.terms import TENANT, Among, Asked

if TYPE_CHECKING:
    from application.operators.operate import Operated

_WHAT: Final = "drift"
_OPEN: Final = "open"
_OPERATION: Final = "operation"


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
    key=Key.TAKEN,
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
    done: list[Operated] = []

    def carry_out(instruction: Instruction) -> Made:
        asked = call.services.reconcile_drift(str(of), call.tenant_id, instruction)
        done.append(asked)
        return Made(_OPERATION, str(asked.operation_id), position=asked.position)

    def show(made: Made) -> Response[ReconciledView]:
        if done and made.position is not None:
            view = reconciled_view(done[0])
        else:
            view = standing_view(_operation(call, made.id))
        return Response(view, headers={"Retry-After": "2"})

    return answered(call, carry_out, show)


def _operation(call: Call, id_: str) -> OperationRecord:
    record = call.services.queries.operation(call.tenant_id, UUID(id_))
    if record is None:
        raise NotFoundError(_OPERATION, id_)
    return record


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of drifts on that surface."""
    if surface not in OPERATORS:
        return ()
    listing = list_open if surface is Surface.ADMIN else list_drifts
    return (listing, reconcile_drift)
