"""What is answered about bulk operations."""

from collections.abc import Mapping

import msgspec
from litestar import Response

from api.http.surface import Surface
from api.http.wire.ids import Prefix, told
from api.http.wire.match import etag
from api.http.wire.values import Moment, Position, moment, moment_if, position
from domain.event import Actor
from projections.queries.bulk.items import BulkItemLine
from projections.queries.bulk.operations import BulkLine

_UNFINISHED = frozenset({"previewing", "running"})


class ActorView(msgspec.Struct, frozen=True, kw_only=True):
    """Who it was."""

    type: str
    id: str


class BulkTargetView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What it is about, as it was chosen."""

    filter: str | None
    """null: the things were named."""
    frozen_at: Position | None
    """How far the list had followed the log when it was resolved; null: not yet."""


class BulkProgressView(msgspec.Struct, frozen=True, kw_only=True):
    """How many items are how far."""

    previewed: int
    done: int
    refused: int
    left: int


class BulkLinksView(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look."""

    self: str
    items: str
    job: str


class BulkView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One bulk operation."""

    id: str
    version: int
    """What `If-Match` is about."""
    state: str
    """`previewing`, `awaiting_approval`, `ready`, `running`, `paused`, `finished` or
    `cancelled`."""
    code: str | None
    """Why it is paused or cancelled: `operator`, `bulk_limit`, or its job's end."""
    action: str
    target: BulkTargetView
    items: int | None
    """null: what a filter means is not resolved yet."""
    verdicts: Mapping[str, int]
    """What would have become of how many, when they were looked at."""
    progress: BulkProgressView
    items_per_second: float
    needs_approval: bool
    reason: str
    requested_by: ActorView
    role: str | None
    approved_by: ActorView | None
    no_room_since: Moment | None
    """Since when the next item waits for room."""
    created_at: Moment
    links: BulkLinksView


class BulkItemView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One item of a bulk operation."""

    n: int
    target: str
    """The id that was named, or of the job that was chosen."""
    verdict: str | None
    """What would have become of it; null: it was not looked at yet."""
    result: str | None
    """`done`, or the code of the refusal; null: it was not begun."""
    detail: str | None
    position: Position | None
    """A read at this position sees what was written for it."""
    at: Moment | None


def bulk_view(surface: Surface, line: BulkLine) -> BulkView:
    """Return one bulk operation."""
    id_ = told(Prefix.BULK, line.bulk_id)
    here = f"{surface}/bulk-operations/{id_}"
    approved = line.approved_by
    return BulkView(
        id=id_,
        version=line.version,
        state=line.state,
        code=line.code,
        action=line.action,
        target=BulkTargetView(
            filter=line.filter,
            frozen_at=position(line.position) if line.is_frozen else None,
        ),
        items=line.items if line.is_frozen else None,
        verdicts=line.verdicts,
        progress=BulkProgressView(
            previewed=line.n_previewed,
            done=line.n_done,
            refused=line.n_refused,
            left=line.items - line.n_done - line.n_refused,
        ),
        items_per_second=line.items_per_second,
        needs_approval=line.items > line.most_unapproved,
        reason=line.reason,
        requested_by=_actor(line.requested_by),
        role=line.role,
        approved_by=None if approved is None else _actor(approved),
        no_room_since=moment_if(line.no_room_since),
        created_at=moment(line.created_at),
        links=BulkLinksView(
            self=here,
            items=f"{here}/items",
            job=f"{surface}/jobs/{told(Prefix.JOB, line.job)}",
        ),
    )


def _actor(actor: Actor) -> ActorView:
    return ActorView(type=actor.type, id=actor.id)


def shown(surface: Surface, line: BulkLine) -> Response[BulkView]:
    """Return one bulk operation, with its version and where to look again."""
    view = bulk_view(surface, line)
    headers = {"ETag": etag(view.id, view.version), "Location": view.links.self}
    if line.state in _UNFINISHED:
        headers["Retry-After"] = "2"
    return Response(view, headers=headers)


def item_view(line: BulkItemLine) -> BulkItemView:
    """Return one item."""
    return BulkItemView(
        n=line.n,
        target=str(line.target_id),
        verdict=line.verdict,
        result=line.result,
        detail=line.detail,
        position=None if line.position is None else position(line.position),
        at=moment_if(line.done_at),
    )
