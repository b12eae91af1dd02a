"""How events are shown."""

from typing import Any

import msgspec

from api.http.wire.ids import Prefix, told_if
from api.http.wire.values import Moment, Position, moment, position
from domain.text import storable
from projections.log_event import LogEvent


class WhoView(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever did it."""

    type: str
    """`shop`, `operator`, `worker`, `pass`, `provider` or `system`."""
    id: str
    role: str | None


class CauseView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What led to it."""

    event: Position | None
    job_id: str | None
    request_id: str | None


class EventView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One event: who, what and when."""

    position: Position
    stream_id: str
    version: int
    type: str
    """What happened: `order.paid`, `job.claimed` …"""
    schema: int
    at: Moment
    actor: WhoView
    reason: str | None
    correlation_id: str
    caused_by: CauseView
    members: tuple[str, ...]
    """Names of what it holds."""


class EventDetailView(EventView, frozen=True, kw_only=True, rename="camel"):
    """One event, with what it holds for who may see that."""

    payload: dict[str, Any] | None
    """Null: masked; see `unmask`."""


class EventAsOfView(msgspec.Struct, frozen=True, kw_only=True):
    """The moment that is shown."""

    position: Position
    at: Moment


class EventPageView(msgspec.Struct, frozen=True, kw_only=True):
    """Where the search goes on."""

    next: str | None
    limit: int


class EventsView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of events, the newest first.

    It may hold fewer than were asked for, even none, and still have a next one.
    """

    items: tuple[EventView, ...]
    page: EventPageView
    as_of: EventAsOfView


def event_view(event: LogEvent) -> EventView:
    """Return an event without what it holds."""
    return msgspec.convert(_members(event), EventView)


def event_detail_view(
    event: LogEvent, payload: dict[str, Any] | None
) -> EventDetailView:
    """Return an event, with its payload or without."""
    return msgspec.convert({**_members(event), "payload": payload}, EventDetailView)


def _members(event: LogEvent) -> dict[str, object]:
    meta, cause = event.meta, event.meta.causation
    led = None if cause.event is None else position(cause.event)
    return {
        "position": position(event.position),
        "streamId": str(event.stream_id),
        "version": event.version,
        "type": event.type,
        "schema": event.schema,
        "at": moment(event.recorded_at),
        "actor": {
            "type": meta.actor.type,
            "id": meta.actor.id,
            "role": None if meta.role is None else str(meta.role),
        },
        "reason": None if meta.reason is None else storable(meta.reason),
        "correlationId": meta.correlation_id,
        "causedBy": {
            "event": led,
            "jobId": told_if(Prefix.JOB, cause.job),
            "requestId": cause.request_id,
        },
        "members": sorted(event.data),
    }
