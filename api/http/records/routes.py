"""All that is only looked at, by surface."""

from collections.abc import Sequence
from typing import Final

from litestar.handlers import HTTPRouteHandler

from api.http.records import (
    audit,
    callbacks,
    deliveries,
    entitlements,
    jobs,
    letters,
    operations,
    orders,
    system,
)
from api.http.surface import Surface

_ALL: Final = (
    jobs.routes,
    operations.routes,
    system.routes,
    deliveries.routes,
    orders.routes,
    entitlements.routes,
    letters.routes,
    audit.routes,
    callbacks.routes,
)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of lists and details on that surface."""
    return [each for of in _ALL for each in of(surface)]
