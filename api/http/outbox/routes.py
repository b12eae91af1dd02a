"""Routes of the outbox: what waits, by its topic and age alone."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from api.http.call import Call
from api.http.route import route
from api.http.surface import Surface
from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, moment
from domain.access.permissions import Permission

LARGEST_PAGE: Final = 200


class BacklogView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much waits to be published."""

    pending_count: int
    oldest_age_seconds: float
    """0: nothing waits."""


class MessageView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One message that waits; never what it says."""

    id: str
    topic: str
    occurred_at: Moment
    age_seconds: float


class MessagesView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The messages that have waited for longest."""

    items: tuple[MessageView, ...]


@route("GET", "/outbox", permission=Permission.OUTBOX_READ)
def show_backlog(call: NamedDependency[Call]) -> BacklogView:
    """Show how much waits to be published, and for how long."""
    backlog = call.services.queries.outbox(tenant_id=call.tenant_id)
    return BacklogView(
        pending_count=backlog.pending_count,
        oldest_age_seconds=round(backlog.oldest_age_seconds or 0.0, 3),
    )


@route("GET", "/system/outbox", permission=Permission.OUTBOX_READ)
def list_waiting(
    call: NamedDependency[Call],
    page_size: Annotated[
        int, QueryParameter(name="pageSize", ge=1, le=LARGEST_PAGE)
    ] = 25,
) -> MessagesView:
    """List the messages that have waited for longest."""
    page = call.services.queries.outbox_waiting(call.tenant_id, page_size)
    return MessagesView(
        items=tuple(
            MessageView(
                id=told(Prefix.MESSAGE, each.id),
                topic=each.topic,
                occurred_at=moment(each.recorded_at),
                age_seconds=round(
                    max((page.now - each.recorded_at).total_seconds(), 0.0), 3
                ),
            )
            for each in page.messages
        )
    )


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of the outbox on that surface."""
    match surface:
        case Surface.ADMIN:
            return (show_backlog,)
        case Surface.PANEL:
            return (list_waiting,)
        case _:
            return ()
