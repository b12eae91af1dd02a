"""Declare a route: once, with everything that is true of it.

    @route("POST", "/jobs/{job_id:str}/retry", permission=Permission.JOBS_WRITE,
           status=202, key=Key.TAKEN, problems=("state_conflict", "unique_job_active"))
    def retry_job(job_id: FromPath[str], call: NamedDependency[Call]) -> View: …

The guard asks for the permission, the contract documents all of it, and tests are
made of it.  A surface adds what it wants of every change: a reason, a key.
"""

import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import (
    Annotated,
    Any,
    Final,
    Required,
    TypedDict,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from litestar.types import Method

from api.http.body import LARGEST
from domain.access.permissions import Permission

ROUTE: Final = "route"
"""Under this name a handler's `opt` holds its declaration."""


class Key(StrEnum):
    """Whether a route takes an `Idempotency-Key`."""

    NONE = "none"
    TAKEN = "taken"
    """It may be given."""
    REQUIRED = "required"
    """On `/v1` and `/v1/admin` it must be given; on the panel it may."""


class Match(StrEnum):
    """Whether a route takes an `If-Match`."""

    NONE = "none"
    TAKEN = "taken"
    REQUIRED = "required"


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of a route, on whatever surface."""

    method: str
    permission: Permission | None
    """None: whoever has a credential of the surface may."""
    status: int
    is_change: bool
    key: Key
    match: Match
    problems: tuple[str, ...]
    """Codes of the catalogue beside those that every route may answer."""
    parameters: frozenset[str]
    """Names of the query parameters that it takes."""
    query: Callable[..., Any] | None = None
    """Makes one value of some of them."""
    also: tuple[int, ...] = ()
    """Other statuses of success: 202 where something may have to be waited for."""
    media: tuple[str, ...] = ()
    """Media types of a body that is no JSON, taken as `body: bytes`; none: JSON."""
    takes_body: bool
    """Whether a request has a body; where none is taken none may be sent."""
    gives: tuple[str, ...] = ()
    """Media types of an answer that is no JSON; none: JSON."""
    is_look: bool = False
    """Whether it tells what is on record as a look before it is told: a reason is
    needed, and a process that may write."""
    is_open: bool = False
    """Whether no credential is asked for: signing in, hooks, `/v1/ready`."""
    is_reasoned: bool = True
    """Whether a change on `/v1/panel` and `/v1/admin` needs a reason."""

    @property
    def offered(self) -> tuple[str, ...]:
        """Media types that its answer may have."""
        return self.gives or ("application/json",)

    @property
    def is_recorded(self) -> bool:
        """Whether it leaves something in the log: a change, or a look."""
        return self.is_change or self.is_look


class Declared(TypedDict, total=False):
    """What may be said of a route; see `Declaration`."""

    permission: Required[Permission | None]
    status: int
    """200 when nothing else is said."""
    also: tuple[int, ...]
    media: tuple[str, ...]
    gives: tuple[str, ...]
    is_look: bool
    key: Key
    match: Match
    problems: tuple[str, ...]
    is_change: bool
    """Every method but GET changes something when nothing else is said."""
    is_open: bool
    is_reasoned: bool
    body_bytes: int
    """Of the longest body; `api.http.body.LARGEST` when nothing else is said."""
    query: Callable[..., Any]
    """Makes one value of many query parameters: the handler's argument `wanted`."""


def route(
    method: Method, path: str, **declared: Unpack[Declared]
) -> Callable[[Callable[..., Any]], HTTPRouteHandler]:
    """Return the decorator that makes a plain function a route handler.

    The first line of its docstring is the summary in the contract, the rest the
    description.
    """

    def declare(function: Callable[..., Any]) -> HTTPRouteHandler:
        summary, _, description = (inspect.getdoc(function) or "").partition("\n")
        query = declared.get("query")
        declaration = _declaration(method, function, declared)
        made = HTTPRouteHandler(
            path,
            http_method=method,
            status_code=declaration.status,
            opt={ROUTE: declaration},
            summary=summary.rstrip("."),
            description=description.strip() or None,
            dependencies=None
            if query is None
            else {"wanted": Provide(query, sync_to_thread=False)},
            request_max_body_size=declared.get("body_bytes", LARGEST),
            sync_to_thread=None if inspect.iscoroutinefunction(function) else True,
        )
        return made(function)

    return declare


def _declaration(
    method: Method, function: Callable[..., Any], declared: Declared
) -> Declaration:
    query = declared.get("query")
    return Declaration(
        method=method,
        permission=declared["permission"],
        status=declared.get("status", 200),
        is_change=declared.get("is_change", method != "GET"),
        key=declared.get("key", Key.NONE),
        match=declared.get("match", Match.NONE),
        problems=declared.get("problems", ()),
        parameters=_query_of(function)
        | (frozenset[str]() if query is None else _query_of(query)),
        query=query,
        also=declared.get("also", ()),
        media=declared.get("media", ()),
        takes_body="data" in get_type_hints(function) or "media" in declared,
        gives=declared.get("gives", ()),
        is_look=declared.get("is_look", False),
        is_open=declared.get("is_open", False),
        is_reasoned=declared.get("is_reasoned", True),
    )


def _query_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of the query parameters of a handler."""
    names = set[str]()
    for name, hint in get_type_hints(function, include_extras=True).items():
        if get_origin(hint) is Annotated:
            for each in get_args(hint)[1:]:
                if isinstance(each, QueryParameter):
                    names.add(each.name or name)
    return frozenset(names)
