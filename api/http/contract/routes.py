"""The contract itself, to be read by whoever has a token."""

from collections.abc import Sequence
from typing import Any

from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler

from api.http.call import Call
from api.http.route import route
from api.http.surface import Surface


@route("GET", "/openapi.json", permission=None)
def read_contract(call: NamedDependency[Call]) -> dict[str, Any]:
    """Read this document.

    OpenAPI 3.1, with every operation, problem and example.
    """
    made: dict[str, Any] = call.request.app.state["contract"]
    return made


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of the contract."""
    return (read_contract,) if surface in {Surface.SHOPS, Surface.ADMIN} else ()
