"""Routes of maintenance: the same resource, under the path of each surface."""

from collections.abc import Sequence
from typing import Final

import msgspec
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from api.http.call import Call
from api.http.maintenance.bodies import MaintenancePut
from api.http.maintenance.views import (
    ChangedMaintenanceView,
    MaintenanceView,
    changed_view,
    maintenance_view,
)
from api.http.problems.problem import Mistake, ProblemError
from api.http.route import route
from api.http.surface import Surface
from api.http.wire.installation import require_theirs
from application.operators.instruction import Instruction, as_given
from application.operators.maintenance import Maintained, Planned
from domain.access.permissions import Permission
from domain.errors import InvalidRequestError
from domain.event import Actor

_MISSING_OPERATOR: Final = "missing_operator"
_REJECTED: Final = "maintenance_rejected"
_PROBLEMS = ("not_found", _MISSING_OPERATOR, _REJECTED, "maintenance_open")
_ON_THE_PANEL = "/overview/maintenance"


def show(call: NamedDependency[Call]) -> MaintenanceView:
    """Show what is closed for maintenance.

    Its words for customers in two languages, who closed it, and what waits for it.
    """
    require_theirs(call, "maintenance", "state")
    return maintenance_view(call.services.maintenance_state())


def change(
    data: JSONBody[MaintenancePut], call: NamedDependency[Call]
) -> ChangedMaintenanceView:
    """Close or open a scope for maintenance.

    Closed, nothing of the scope is asked and no attempt is spent; settlements and
    refunds go on.  A window keeps its words: the same once more changes nothing,
    others are refused until it is opened.
    """
    instruction = _instruction(data, call)
    try:
        done = _changed(data, call, instruction)
    except InvalidRequestError as error:
        mistake = Mistake(
            pointer=f"#/{_member(error.path)}", code=error.code, detail=error.detail
        )
        raise ProblemError(_REJECTED, str(error), mistakes=(mistake,)) from error
    page = call.services.maintenance_state()
    return changed_view(page, done.events, done.position)


def _changed(data: MaintenancePut, call: Call, instruction: Instruction) -> Maintained:
    if not data.active:
        return call.services.maintenance.close(data.scope, instruction)
    planned = Planned(
        scope=data.scope,
        notice_ru=data.notice_ru or "",
        notice_en=data.notice_en or "",
        expected_return=data.expected_return_at,
    )
    return call.services.maintenance.open(planned, instruction)


def _instruction(data: MaintenancePut, call: Call) -> Instruction:
    """Return who asks, and why.

    Raises:
        ProblemError: a program does not say who decides.
    """
    instruction = call.instruction()
    operator = as_given(data.operator_id or "")
    if call.surface is Surface.ADMIN:
        if not operator:
            mistake = Mistake(
                pointer="#/operatorId", code=_MISSING_OPERATOR, detail="who decides"
            )
            detail = "operatorId: name whoever decides"
            raise ProblemError(_MISSING_OPERATOR, detail, mistakes=(mistake,))
        # A token's name is no token, so only what was sent is cleaned.
        told = f"{instruction.actor.id}:{operator}"
        actor = Actor(type=instruction.actor.type, id=told)
        instruction = msgspec.structs.replace(instruction, actor=actor)
    if data.reason is not None:
        instruction = msgspec.structs.replace(instruction, reason=data.reason)
    return instruction


def _member(path: str) -> str:
    return "expectedReturnAt" if path == "expectedReturn" else path


def _made(path: str) -> tuple[HTTPRouteHandler, HTTPRouteHandler]:
    look = route(
        "GET", path, permission=Permission.MAINTENANCE_READ, problems=("not_found",)
    )
    put = route(
        "PUT", path, permission=Permission.MAINTENANCE_WRITE, problems=_PROBLEMS
    )
    return look(show), put(change)


_ADMIN: Final = _made("/maintenance")
_PANEL: Final = _made(_ON_THE_PANEL)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of maintenance on that surface."""
    match surface:
        case Surface.ADMIN:
            return _ADMIN
        case Surface.PANEL:
            return _PANEL
        case _:
            return ()
