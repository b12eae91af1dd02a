"""What is answered about queues."""

from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Response

from api.http.wire.match import etag
from api.http.wire.values import Moment, Position, moment, moment_if, position
from projections.queries.processing.queues import QueueLine, QueuePage


class PauseView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Since when and until when a queue is paused, by whom and why."""

    at: Moment
    expires_at: Moment
    by: str
    reason: str


class QueueView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One queue."""

    name: str
    version: int
    concurrency: int | None
    """How many of its jobs may run at once, over all processes; null: no limit."""
    pause: PauseView | None
    running: int
    due: int
    """Jobs that could be claimed now but for pauses, limits and keys."""
    is_due_capped: bool
    """Whether more are due than are counted."""
    due_since: Moment | None
    """Since when the oldest of them is due."""


class ChangedQueueView(QueueView, frozen=True, kw_only=True, rename="camel"):
    """A queue that somebody has changed."""

    position: Position
    """A read at this position sees the record of it."""


class QueuesView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All queues."""

    now: Moment
    live_workers: int
    items: tuple[QueueView, ...]


def tag_of(name: str) -> str:
    """Return what a queue is called in ETags, which are ASCII without quotes."""
    return f"queue_{quote(name)}"


def queues_view(page: QueuePage) -> QueuesView:
    """Return all queues."""
    return QueuesView(
        now=moment(page.now),
        live_workers=page.live_workers,
        items=tuple(QueueView(**_members(line)) for line in page.queues),
    )


def queue_view(line: QueueLine) -> Response[QueueView]:
    """Return one queue, with its version."""
    return Response(QueueView(**_members(line)), headers=_headers(line))


def changed_view(line: QueueLine, at: int) -> Response[ChangedQueueView]:
    """Return a queue that was changed, with its version."""
    view = ChangedQueueView(**_members(line), position=position(at))
    return Response(view, headers=_headers(line))


def _headers(line: QueueLine) -> dict[str, str]:
    return {"ETag": etag(tag_of(line.name), line.version)}


def _members(line: QueueLine) -> dict[str, Any]:
    pause = line.paused
    return {
        "name": line.name,
        "version": line.version,
        "concurrency": line.concurrency,
        "pause": None
        if pause is None
        else PauseView(
            at=moment(pause.at),
            expires_at=moment(pause.until),
            by=pause.by,
            reason=pause.reason,
        ),
        "running": line.running,
        "due": line.due,
        "is_due_capped": line.is_due_capped,
        "due_since": moment_if(line.due_since),
    }
