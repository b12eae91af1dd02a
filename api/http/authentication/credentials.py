"""The credential of each surface: a token, or a session.  None opens another."""

import hmac
from typing import Any, Final
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection

from api.http.problems.catalogue import FORBIDDEN, UNAUTHORIZED
from api.http.problems.problem import ProblemError
from api.http.route import Declaration
from api.http.services import HttpServices
from api.http.surface import CREDENTIALS, Surface
from application.access.principal import Principal
from domain.access.people import site_of

COOKIE: Final = "__Host-session"
CSRF: Final = "X-CSRF-Token"
_BEARER: Final = "bearer "
_OUR_OWN: Final = frozenset({"same-origin", "none"})

type Connection = ASGIConnection[Any, Any, Any, Any]


class Asking:
    """Who asks, and whose requests are counted together."""

    __slots__ = ("partition", "principal")

    def __init__(self, principal: Principal, partition: str) -> None:
        """Take both."""
        self.principal = principal
        self.partition = partition


def asking(
    connection: Connection,
    services: HttpServices,
    surface: Surface,
    declared: Declaration,
    *,
    is_use: bool = True,
) -> Asking:
    """Return who asks; a look that is no `is_use` keeps no session from growing idle.

    Raises:
        ProblemError: there is no credential of this surface, or it is no good.
    """
    if surface is Surface.PANEL:
        return _of_session(connection, services, declared, is_use=is_use)
    given = connection.headers.get("authorization", "")
    if given[: len(_BEARER)].lower() != _BEARER:
        raise _unknown(surface)
    token = given[len(_BEARER) :].strip()
    address = address_of(connection)
    principal = services.access.authenticate.token(token, CREDENTIALS[surface], address)
    if principal is None:
        raise _unknown(surface)
    return Asking(principal, principal.partition)


def _of_session(
    connection: Connection,
    services: HttpServices,
    declared: Declaration,
    *,
    is_use: bool,
) -> Asking:
    cookie = connection.cookies.get(COOKIE, "")
    session = services.access.authenticate.session(cookie, is_use=is_use)
    if session is None:
        detail = "sign in: POST /v1/panel/session"
        raise ProblemError(UNAUTHORIZED, detail)
    if declared.is_change:
        require_our_own_page(connection)
        sent = connection.headers.get(CSRF, "")
        if not hmac.compare_digest(sent.encode(), session.csrf.encode()):
            detail = f"send the session's token in the header {CSRF}"
            raise ProblemError(FORBIDDEN, detail)
    partition = f"{session.partition}:{site_of(address_of(connection))}"
    return Asking(session.principal, partition)


def address_of(connection: Connection) -> str:
    """Return where a request comes from, as far as that is known."""
    return "" if connection.client is None else connection.client.host


def require_our_own_page(connection: Connection) -> None:
    """Refuse what a page of another site has sent; a program names no site.

    Raises:
        ProblemError: the browser says that it comes from one.
    """
    site = connection.headers.get("sec-fetch-site")
    origin = connection.headers.get("origin")
    host = connection.headers.get("host", "")
    is_ours = site is None or site in _OUR_OWN
    if not is_ours or (origin is not None and _host_of(origin) != host.lower()):
        raise ProblemError(FORBIDDEN, "the request comes from another site's page")


def _host_of(origin: str) -> str | None:
    """Return host and port of a page's origin; None: it tells none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _unknown(surface: Surface) -> ProblemError:
    challenge = f'Bearer realm="{surface}", error="invalid_token"'
    detail = "send a token that is valid here: Authorization: Bearer ffl_…"
    return ProblemError(UNAUTHORIZED, detail, headers={"WWW-Authenticate": challenge})
