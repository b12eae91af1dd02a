"""All that is only looked at, by surface."""

from collections.abc import Sequence

from litestar.handlers import HTTPRouteHandler

from api.http.records import jobs
from api.http.surface import Surface


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of lists and details on that surface."""
    return [each for of in (jobs.routes,) for each in of(surface)]
