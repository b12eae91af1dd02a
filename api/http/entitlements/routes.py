"""Routes of operations on entitlements: asked for once, carried out by workers."""

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from api.http.call import Call
from api.http.entitlements.bodies import OperationRequest
from api.http.entitlements.refusals import NotPausableError, OperationRejectedError
from api.http.entitlements.views import RequestedView, requested_view
from api.http.keyed import Made, answered
from api.http.route import Key, route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given
from application.errors import NotFoundError, StateConflictError
from application.operators.instruction import Instruction
from application.operators.operate import Wanted
from domain.access.permissions import Permission
from domain.fulfillment.operations import PAUSE, RESUME
from domain.members import invalid

_MEMBER: Final = "operation"
_CHANGING: Final = "changing"
_LATER: Final = {"Retry-After": "2"}

type Refusal = Callable[[StateConflictError], StateConflictError]


@route(
    "POST",
    "/entitlements/{entitlement_id:str}/operations",
    permission=Permission.OPERATIONS_WRITE,
    status=202,
    key=Key.REQUIRED,
    problems=(
        "not_found",
        "state_conflict",
        "unsupported_operation",
        "fulfillment_operation_rejected",
    ),
)
def request_operation(
    entitlement_id: FromPath[str],
    data: JSONBody[OperationRequest],
    call: NamedDependency[Call],
) -> Response[RequestedView]:
    """Ask for an operation on a customer's access.

    What is asked for is what the customer is owed from then on; a worker carries it to
    the panel.  A reconciliation is one for each quarter of an hour.
    """
    parameters = {name: value for name, value in data.items() if name != _MEMBER}
    operation = data.get(_MEMBER)
    if not isinstance(operation, str):
        invalid(_MEMBER, "the name of an operation")
    wanted = _wanted(entitlement_id, operation, parameters)
    return _asked(call, wanted, data, OperationRejectedError)


@route(
    "POST",
    "/entitlements/{entitlement_id:str}/pause",
    permission=Permission.OPERATIONS_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("not_found", "not_pausable", "state_conflict"),
)
def pause_entitlement(
    entitlement_id: FromPath[str], call: NamedDependency[Call]
) -> Response[RequestedView]:
    """Let a customer's access rest, and its time with it."""
    return _asked(call, _wanted(entitlement_id, PAUSE, {}), None, NotPausableError)


@route(
    "POST",
    "/entitlements/{entitlement_id:str}/resume",
    permission=Permission.OPERATIONS_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("not_found", "not_pausable", "state_conflict"),
)
def resume_entitlement(
    entitlement_id: FromPath[str], call: NamedDependency[Call]
) -> Response[RequestedView]:
    """End the rest of a customer's access: the time that it took is given back."""
    return _asked(call, _wanted(entitlement_id, RESUME, {}), None, NotPausableError)


def _wanted(key: str, operation: str, parameters: dict[str, Any]) -> Wanted:
    id_ = str(given(key, Prefix.ENTITLEMENT))
    return Wanted(entitlement=id_, operation=operation, parameters=parameters)


def _asked(
    call: Call, wanted: Wanted, body: object, refusal: Refusal
) -> Response[RequestedView]:
    def carry_out(instruction: Instruction) -> Made:
        try:
            operated = call.services.operate(wanted, instruction)
        except StateConflictError as error:
            if error.state == _CHANGING:
                raise
            raise refusal(error) from error
        return Made(_MEMBER, str(operated.operation_id), position=operated.position)

    def show(made: Made) -> Response[RequestedView]:
        record = call.services.queries.operation(call.tenant_id, UUID(made.id))
        if record is None:
            raise NotFoundError(_MEMBER, made.id)
        view = requested_view(call.surface, record)
        return Response(view, headers=_LATER | {"Location": view.links.self})

    return answered(call, carry_out, show, body=body)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of operators; a rest is people's to grant."""
    if surface not in OPERATORS:
        return ()
    if surface is Surface.ADMIN:
        return (request_operation,)
    return request_operation, pause_entitlement, resume_entitlement
