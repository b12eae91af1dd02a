"""Routes of people, their sessions, and tokens."""

from collections.abc import Sequence
from typing import Any, Final

from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from api.http.access import views
from api.http.access.bodies import PersonBody, SignInBody, TokenBody
from api.http.access.views import (
    MadeView,
    MeView,
    PersonView,
    SessionView,
    TokensView,
)
from api.http.authentication.credentials import (
    COOKIE,
    address_of,
    require_our_own_page,
)
from api.http.authentication.guard import SERVICES
from api.http.call import Call
from api.http.route import route
from api.http.surface import Surface
from api.http.wire.ids import Prefix, given
from application.access.access import Access
from application.access.people import WantedPerson
from application.access.signing_in import LONGEST
from application.access.tokens import Wanted
from domain.access.people import csrf_of, session_secret
from domain.access.permissions import Permission

_OF_SESSIONS: Final = int(LONGEST.total_seconds())


@route(
    "POST",
    "/session",
    permission=None,
    status=201,
    is_open=True,
    is_reasoned=False,
    problems=("unauthorized", "forbidden", "quota_exceeded"),
)
def sign_in(
    data: JSONBody[SignInBody], request: Request[Any, Any, Any]
) -> Response[SessionView]:
    """Sign in by a name and a password.

    It needs no credential.  The answer sets the cookie of the session, and tells what
    `X-CSRF-Token` has to be.  A wrong name and a wrong password are answered alike.  A
    session before it is over.
    """
    require_our_own_page(request)
    signed_in = _access(request).sign_in(
        data.name,
        data.password,
        address=address_of(request),
        cookie=request.cookies.get(COOKIE, ""),
        request_id=request.scope["state"]["request_id"],
    )
    cookie = _cookie(signed_in.cookie, _OF_SESSIONS)
    return Response(views.session(signed_in), cookies=[cookie])


@route("DELETE", "/session", permission=None, status=204, is_reasoned=False)
def sign_out(call: NamedDependency[Call]) -> Response[None]:
    """Sign out: the session opens nothing any more."""
    cookie = call.request.cookies.get(COOKIE, "")
    call.services.access.sign_in.out(cookie, call.request_id)
    return Response(None, cookies=[_cookie("", 0)])


@route("GET", "/me", permission=None)
def read_me(call: NamedDependency[Call]) -> MeView:
    """Read who has signed in, and what they may do."""
    secret = session_secret(call.request.cookies.get(COOKIE, ""))
    return views.me(call.principal, "" if secret is None else csrf_of(secret))


@route("GET", "/tokens", permission=Permission.TOKENS_WRITE)
def list_tokens(call: NamedDependency[Call]) -> TokensView:
    """List the tokens of programs; nothing of their secrets is kept."""
    tokens = call.services.access.tokens.all(call.tenant_id)
    return TokensView(items=[views.token(each) for each in tokens])


@route(
    "POST",
    "/tokens",
    permission=Permission.TOKENS_WRITE,
    status=201,
    problems=("forbidden", "state_conflict"),
)
def create_token(
    data: JSONBody[TokenBody], call: NamedDependency[Call]
) -> Response[MadeView]:
    """Make a token of a program.

    Its text is answered this once.  Nobody gives a token more than they may do
    themselves; it expires within a year.
    """
    wanted = Wanted(
        tenant_id=call.tenant_id,
        name=data.name,
        surface=data.surface,
        scopes=tuple(data.scopes),
        expires_in_days=data.expires_in_days,
        allowed_from=tuple(data.allowed_from),
    )
    made = call.services.access.tokens.create(wanted, call.instruction())
    view = views.made(made)
    location = f"{call.surface}/tokens/{view.token.id}"
    return Response(view, headers={"Location": location})


@route(
    "DELETE",
    "/tokens/{token_id:str}",
    permission=Permission.TOKENS_WRITE,
    status=204,
)
def revoke_token(token_id: FromPath[str], call: NamedDependency[Call]) -> None:
    """Revoke a token: it opens nothing from the next request on."""
    id_ = given(token_id, Prefix.TOKEN)
    call.services.access.tokens.revoke(str(id_), call.instruction())


@route(
    "POST",
    "/people",
    permission=Permission.PEOPLE_WRITE,
    status=201,
    problems=("insufficient_scope", "forbidden", "state_conflict"),
)
def add_person(
    data: JSONBody[PersonBody], call: NamedDependency[Call]
) -> Response[PersonView]:
    """Add somebody who may sign in.

    With `COUNTERFOIL_OPERATOR_TOKEN` it makes the first owner, as long as nobody is
    there, and that is all that this credential does.  Nobody gives a role that may do
    more than they may themselves.
    """
    wanted = WantedPerson(
        tenant_id=call.tenant_id,
        name=data.name,
        role=data.role,
        password=data.password,
    )
    people = call.services.access.people
    is_first = call.principal.id is None
    add = people.add_first if is_first else people.add
    return Response(views.person(add(wanted, call.instruction())))


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of people, sessions and tokens on that surface."""
    match surface:
        case Surface.PANEL:
            return (
                sign_in,
                sign_out,
                read_me,
                list_tokens,
                create_token,
                revoke_token,
            )
        case Surface.ADMIN:
            return (add_person,)
        case _:
            return ()


def _access(request: Request[Any, Any, Any]) -> Access:
    found: Access = request.scope["state"][SERVICES].access
    return found


def _cookie(value: str, seconds: int) -> Cookie:
    return Cookie(
        key=COOKIE,
        value=value,
        path="/",
        max_age=seconds,
        secure=True,
        httponly=True,
        samesite="lax",
    )
