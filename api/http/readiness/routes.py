"""`GET /v1/ready`: the readiness of the internal listener, without any credential."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler

from api.http.authentication.guard import SERVICES
from api.http.problems.catalogue import DEPENDENCY_UNAVAILABLE
from api.http.problems.problem import ProblemError
from api.http.route import route
from api.http.surface import Surface

if TYPE_CHECKING:
    from api.http.services import HttpServices


class ReadyView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A process that can work now."""

    status: str
    """`ok`."""
    checks: tuple[str, ...]
    """What was checked, each of it well."""


@route("GET", "/ready", permission=None, is_open=True)
def read_readiness(request: Request[Any, Any, Any]) -> ReadyView:
    """Ask whether this process can work now.

    It needs no credential.  503 names what is wrong: by the name of the check and its
    class alone.  What was not checked is never ready.
    """
    services: HttpServices = request.scope["state"][SERVICES]
    readiness = services.readiness
    wrong = [f"{name}: {flaw}" for name, flaw in readiness.items() if flaw is not None]
    if wrong or not readiness:
        detail = f"this process is not ready: {', '.join(wrong) or 'nothing checked'}"
        headers = {"Retry-After": "2"}
        raise ProblemError(DEPENDENCY_UNAVAILABLE, detail, headers=headers)
    return ReadyView(status="ok", checks=tuple(readiness))


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of readiness."""
    return (read_readiness,) if surface is Surface.SHOPS else ()
