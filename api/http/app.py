"""The application: surfaces, their routes, and what is common to all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

from litestar import Litestar, Request, Response, Router
from litestar.config.app import AppConfig
from litestar.datastructures import ResponseHeader, State
from litestar.di import Provide
from litestar.types import ASGIApp, Receive, Scope, Send

from api.http.authentication.guard import PRINCIPAL, SERVICES, SURFACE, admit
from api.http.body import LARGEST, StrictRequest
from api.http.call import Call
from api.http.contract.document import document
from api.http.contract.listing import Operation, operations
from api.http.counted import Counted, Counts
from api.http.envelope import Envelope
from api.http.live.waiting import waited
from api.http.problems.problem import Problem
from api.http.problems.render import render
from api.http.resources import RESOURCES
from api.http.route import ROUTE, Declaration
from api.http.services import HttpServices
from api.http.surface import OPERATORS, Surface

_NO_STORE: Final = ResponseHeader(name="Cache-Control", value="no-store")


@dataclass(frozen=True, slots=True)
class Application:
    """The routes over one installation."""

    routes: Litestar
    services: HttpServices

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection, out of this installation."""
        cast("dict[str, Any]", scope).setdefault("state", {})[SERVICES] = self.services
        await self.routes(scope, receive, send)


def application(services: HttpServices) -> Application:
    """Return the router over an opened installation."""
    return Application(_routes(), services)


@cache
def _routes() -> Litestar:
    """Return the router, which knows no installation: one serves a whole process.

    It takes a quarter of a second to make.
    """
    routers = {surface: _router(surface) for surface in Surface}
    return Litestar(
        route_handlers=list(routers.values()),
        exception_handlers={Exception: _problem},
        request_class=StrictRequest,
        request_max_body_size=LARGEST,
        state=State({"contract": document(_all(routers))}),
        response_headers=[_NO_STORE],
        openapi_config=None,
        on_app_init=[_quiet],
        debug=False,
    )


def _problem(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    services: HttpServices = request.scope["state"][SERVICES]
    return render(request, error, services.translated, services.fault)


def described() -> dict[str, Any]:
    """Return the contract: the OpenAPI document of every surface."""
    return document(every_operation())


def every_operation() -> list[Operation]:
    """Return all that can be asked for, surface by surface."""
    return _all({surface: _router(surface) for surface in Surface})


def _all(routers: Mapping[Surface, Router]) -> list[Operation]:
    return [
        each
        for surface, router in routers.items()
        for each in operations(router, surface)
    ]


def enveloped(app: ASGIApp, counts: Counts | None = None) -> ASGIApp:
    """Return what a server serves; `counts` is told of requests."""
    return Envelope(app if counts is None else Counted(app, counts))


def _quiet(config: AppConfig) -> AppConfig:
    """Let nothing but our own telemetry speak."""
    config.logging_config = None
    return config


def _router(surface: Surface) -> Router:
    return Router(
        surface.value,
        route_handlers=[each for of in RESOURCES for each in of(surface)],
        guards=[admit],
        opt={SURFACE: surface},
        dependencies={
            "call": Provide(_call, sync_to_thread=False),
            "waited": Provide(waited),
        },
    )


def _call(request: Request[Any, Any, Any]) -> Call:
    handler = request.scope["route_handler"]
    declared: Declaration = handler.opt[ROUTE]
    surface: Surface = handler.opt[SURFACE]
    return Call(
        services=request.scope["state"][SERVICES],
        principal=request.scope["state"][PRINCIPAL],
        surface=surface,
        request_id=request.scope["state"]["request_id"],
        needs_reason=(
            declared.is_recorded and declared.is_reasoned and surface in OPERATORS
        ),
        request=request,
    )
