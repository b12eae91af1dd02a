"""Callbacks: what providers have told by themselves, and what became of it."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from api.http.call import Call
from api.http.lists.cursors import INVALID_CURSOR, Cursor, Scope, seal, unseal
from api.http.lists.query import FromCursor, Limit
from api.http.route import route
from api.http.surface import Surface
from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Moment, moment, moment_if
from domain.access.permissions import Permission
from projections.queries.page import DEFAULT
from projections.queries.records.callbacks import CallbackRow, CallbacksWanted

_REJECTED: Final = "rejected"


class CallbackView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One callback; what it says in full is shown nowhere."""

    id: str
    provider: str
    provider_event_id: str | None
    signature_valid: bool
    status: str
    """`accepted`, `duplicate`, `ignored`, `failed` or `rejected`."""
    error_code: str | None
    kind: str | None
    """What it says that happened."""
    delivery_id: str | None
    received_at: Moment
    processed_at: Moment | None


class CallbacksView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of callbacks, the newest first."""

    items: tuple[CallbackView, ...]
    next_cursor: str | None
    """Null: here the list ends."""


class CallbackQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which callbacks are asked for."""

    status: str | None
    provider: str | None
    cursor: str | None
    limit: int


def callback_query(
    status_: Annotated[
        Literal["accepted", "duplicate", "ignored", "failed", "rejected"] | None,
        QueryParameter(name="status", description="What became of them."),
    ] = None,
    provider: Annotated[
        str | None,
        QueryParameter(
            name="provider",
            description="Who has told it.",
            pattern="^[a-z0-9][a-z0-9_-]*$",
            max_length=64,
        ),
    ] = None,
    cursor: FromCursor = None,
    limit: Limit = DEFAULT,
) -> CallbackQuery:
    """Return what was asked for."""
    return CallbackQuery(status=status_, provider=provider, cursor=cursor, limit=limit)


@route(
    "GET",
    "/webhooks",
    permission=Permission.WEBHOOKS_READ,
    query=callback_query,
    problems=(INVALID_CURSOR,),
)
def list_webhooks(
    wanted: NamedDependency[CallbackQuery], call: NamedDependency[Call]
) -> Response[CallbacksView]:
    """List what providers have told by themselves, the newest first."""
    return _listed(call, wanted)


@route(
    "GET",
    "/system/webhooks",
    permission=Permission.WEBHOOKS_READ,
    query=callback_query,
    problems=(INVALID_CURSOR,),
)
def list_system_webhooks(
    wanted: NamedDependency[CallbackQuery], call: NamedDependency[Call]
) -> Response[CallbacksView]:
    """List what providers have told by themselves, the newest first."""
    return _listed(call, wanted)


def _listed(call: Call, query: CallbackQuery) -> Response[CallbacksView]:
    scope = Scope(
        of="webhooks",
        tenant_id=call.tenant_id,
        filter=f"{query.status} {query.provider}",
        sort="-id",
    )
    secret = call.services.cursor_secret()
    before = None
    if query.cursor is not None:
        before = UUID(unseal(query.cursor, scope, secret).place)
    rows = call.services.queries.callbacks(
        CallbacksWanted(
            tenant_id=call.tenant_id,
            state=query.status,
            provider=query.provider,
            before=before,
            limit=query.limit,
        )
    )
    items, following = rows[: query.limit], None
    if len(rows) > len(items):
        cursor = Cursor(place=str(items[-1].id), is_back=False, position=0)
        following = seal(cursor, scope, secret)
    view = CallbacksView(items=tuple(map(_view, items)), next_cursor=following)
    return Response(view)


def _view(row: CallbackRow) -> CallbackView:
    return CallbackView(
        id=told(Prefix.CALLBACK, row.id),
        provider=row.provider,
        provider_event_id=row.event_id,
        signature_valid=row.state != _REJECTED,
        status=row.state,
        error_code=row.code,
        kind=row.kind,
        delivery_id=told_if(Prefix.DELIVERY, row.delivery_id),
        received_at=moment(row.received_at),
        processed_at=moment_if(row.processed_at),
    )


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of callbacks that are only looked at."""
    match surface:
        case Surface.ADMIN:
            return (list_webhooks,)
        case Surface.PANEL:
            return (list_system_webhooks,)
        case _:
            return ()
