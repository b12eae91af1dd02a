"""The guard of every route: who asks, may they, and is the request one for it."""

from typing import Any, Final

from litestar.concurrency import sync_to_thread
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from api.http.authentication.credentials import asking
from api.http.authentication.rates import count
from api.http.body import refuse_body
from api.http.problems.catalogue import (
    FORBIDDEN,
    INSUFFICIENT_SCOPE,
    INVALID_REQUEST,
    JOBS_UNAVAILABLE,
    NOT_FOUND,
    UNKNOWN_FIELD,
)
from api.http.problems.problem import Mistake, ProblemError, misfit
from api.http.route import ROUTE, Declaration
from api.http.services import HttpServices
from api.http.surface import Surface
from api.http.wire.accept import HEADER, refuse_unacceptable
from application.access.principal import Principal
from domain.text import storable

PRINCIPAL: Final = "principal"
SURFACE: Final = "surface"
SERVICES: Final = "services"
_NAME_CHARACTERS: Final = 64

type Connection = ASGIConnection[Any, Any, Any, Any]


async def admit(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let the request in, with its principal in its state.

    Raises:
        ProblemError: who asks is not known, may not, or asks for what is not there.
    """
    declared: Declaration | None = handler.opt.get(ROUTE)
    if declared is None:
        return  # OPTIONS: the framework tells which methods there are
    surface: Surface = handler.opt[SURFACE]
    services: HttpServices = connection.scope["state"][SERVICES]
    if not declared.is_open:
        principal = await sync_to_thread(
            _let_in, connection, services, surface, declared
        )
        connection.scope["state"][PRINCIPAL] = principal
        _refuse_unstorable_names(connection)
    _refuse_unknown_parameters(connection, declared)
    _refuse_what_is_given_twice(connection)
    if declared.is_change and not declared.takes_body:
        await refuse_body(connection)
    refuse_unacceptable(connection.headers.get(HEADER), declared.offered)
    if declared.is_recorded and services.is_read_only:
        detail = "this process was started with COUNTERFOIL_READ_ONLY=1"
        headers = {"Retry-After": "60"}
        raise ProblemError(JOBS_UNAVAILABLE, detail, headers=headers)


def _let_in(
    connection: Connection,
    services: HttpServices,
    surface: Surface,
    declared: Declaration,
) -> Principal:
    asks = asking(connection, services, surface, declared)
    count(connection, services.access.limiter.take(asks.partition))
    principal, needed = asks.principal, declared.permission
    if needed is not None and needed not in principal.permissions:
        state = connection.scope["state"]
        asked = f"{declared.method} {connection.scope['path_template']}"
        services.access.refuse(principal, needed, asked, state["request_id"])
        detail = f"it needs the permission {needed}"
        if principal.role is not None:
            raise ProblemError(FORBIDDEN, detail)
        challenge = f'Bearer realm="{surface}", error="insufficient_scope"'
        headers = {"WWW-Authenticate": f'{challenge}, scope="{needed}"'}
        raise ProblemError(INSUFFICIENT_SCOPE, detail, headers=headers)
    return principal


def _refuse_unstorable_names(connection: Connection) -> None:
    """Refuse an address that no row can have: PostgreSQL cannot even look for it."""
    if any("\0" in str(each) for each in connection.path_params.values()):
        raise ProblemError(NOT_FOUND, "nothing is at this address")


def _refuse_what_is_given_twice(connection: Connection) -> None:
    """Refuse two values of one parameter: one would be left out, and nobody told."""
    names = [name for name, _ in connection.query_params.multi_items()]
    for name in names:
        if names.count(name) > 1:
            rule = "it is given twice; give it once"
            raise misfit(name, rule, INVALID_REQUEST, inner="invalid_parameter")


def _refuse_unknown_parameters(connection: Connection, declared: Declaration) -> None:
    unknown = sorted(set(connection.query_params) - declared.parameters)
    if unknown:
        known = ", ".join(sorted(declared.parameters)) or "none"
        rule = f"there is no such parameter; there are: {known}"
        mistakes = tuple(
            Mistake(parameter=name, code=UNKNOWN_FIELD, detail=rule)
            for name in unknown[:8]
        )
        detail = f"{storable(unknown[0], _NAME_CHARACTERS)}: {rule}"
        raise ProblemError(UNKNOWN_FIELD, detail, mistakes=mistakes)
