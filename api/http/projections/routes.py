"""Routes of projections: where they stand, and holding them."""

from collections.abc import Callable, Sequence
from typing import Final

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.keyed import Made, answered
from api.http.projections.views import (
    ProjectionsView,
    ProjectionView,
    SwitchedView,
    projection_view,
    standing_view,
    switched_view,
)
from api.http.route import Key, route
from api.http.surface import OPERATORS, Surface
from api.http.wire.installation import require_theirs
from api.http.wire.values import moment, position
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from application.operators.projections import Switched
from domain.access.permissions import Permission
from projections.queries.projections import ProjectionLine, ProjectionPage

_WHAT: Final = "projection"


@route(
    "GET",
    "/projections",
    permission=Permission.PROJECTIONS_READ,
    problems=("not_found",),
)
def list_projections(call: NamedDependency[Call]) -> ProjectionsView:
    """Show where all projections stand, and how far they are behind."""
    require_theirs(call, _WHAT, "list")
    page = call.services.queries.projections()
    return ProjectionsView(
        now=moment(page.now),
        last=position(page.last),
        items=tuple(projection_view(line) for line in page.projections),
        absent=page.absent,
    )


@route("GET", "/projections/{projection:str}", permission=Permission.PROJECTIONS_READ)
def get_projection(
    projection: FromPath[str], call: NamedDependency[Call]
) -> ProjectionView:
    """Show where one projection stands."""
    require_theirs(call, _WHAT, projection)
    return projection_view(_line(call.services.queries.projections(), projection))


def _line(page: ProjectionPage, name: str) -> ProjectionLine:
    for line in page.projections:
        if line.name == name:
            return line
    raise NotFoundError(_WHAT, name)


@route(
    "POST",
    "/projections/{projection:str}/pause",
    permission=Permission.PROJECTIONS_WRITE,
    key=Key.TAKEN,
    problems=("projection_paused",),
)
def pause_projection(
    projection: FromPath[str], call: NamedDependency[Call]
) -> Response[SwitchedView]:
    """Let the rows of a projection stay as they are until it is resumed."""
    return _switched(call, projection, call.services.projections.pause)


@route(
    "POST",
    "/projections/{projection:str}/resume",
    permission=Permission.PROJECTIONS_WRITE,
    key=Key.TAKEN,
)
def resume_projection(
    projection: FromPath[str], call: NamedDependency[Call]
) -> Response[SwitchedView]:
    """Let a projection follow the log again, and try again what was set aside."""
    return _switched(call, projection, call.services.projections.resume)


def _switched(
    call: Call, name: str, act: Callable[[str, Instruction], Switched]
) -> Response[SwitchedView]:
    done: list[Switched] = []

    def carry_out(instruction: Instruction) -> Made:
        did = act(name, instruction)
        done.append(did)
        return Made(_WHAT, name, did.events, did.position)

    def show(made: Made) -> Response[SwitchedView]:
        if done and made.position is not None:
            return Response(switched_view(done[0]))
        page = call.services.queries.projections()
        return Response(standing_view(page, _line(page, name)))

    return answered(call, carry_out, show)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of projections on that surface."""
    if surface not in OPERATORS:
        return ()
    return (list_projections, get_projection, pause_projection, resume_projection)
