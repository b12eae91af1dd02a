"""Routes of projections: where they stand, and holding them."""

from collections.abc import Sequence
from typing import Final

from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.projections.views import (
    ProjectionsView,
    ProjectionView,
    SwitchedView,
    projection_view,
    switched_view,
)
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.installation import require_theirs
from api.http.wire.values import moment, position
from application.errors import NotFoundError
from domain.access.permissions import Permission

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
    for line in call.services.queries.projections().projections:
        if line.name == projection:
            return projection_view(line)
    raise NotFoundError(_WHAT, projection)


@route(
    "POST",
    "/projections/{projection:str}/pause",
    permission=Permission.PROJECTIONS_WRITE,
    problems=("projection_paused",),
)
def pause_projection(
    projection: FromPath[str], call: NamedDependency[Call]
) -> SwitchedView:
    """Let the rows of a projection stay as they are until it is resumed."""
    return switched_view(
        call.services.projections.pause(projection, call.instruction())
    )


@route(
    "POST",
    "/projections/{projection:str}/resume",
    permission=Permission.PROJECTIONS_WRITE,
)
def resume_projection(
    projection: FromPath[str], call: NamedDependency[Call]
) -> SwitchedView:
    """Let a projection follow the log again, and try again what was set aside."""
    return switched_view(
        call.services.projections.resume(projection, call.instruction())
    )


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of projections on that surface."""
    if surface not in OPERATORS:
        return ()
    return (list_projections, get_projection, pause_projection, resume_projection)
