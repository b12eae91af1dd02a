"""Events of one tenant by stream, story, type, actor and time: one page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import scalar_row, tuple_row

from domain.errors import InvalidRequestError
from domain.event import Instant
from projections.connections import Lend
from projections.log_event import COLUMNS, LogEvent, read_events
from projections.queries.events.story import streams_of
from projections.queries.page import DEFAULT

LOOKED_AT: Final = 5_000
"""Events that one page without a stream looks at, however few of them fit."""

_SLACK: Final = timedelta(minutes=10)
"""How much later than its neighbours an event may be recorded: in a transaction that
was long, positions and clocks part that far."""

LONGEST: Final = timedelta(days=31)
"""That is looked through without a stream or a story."""
INVALID_WINDOW: Final = "invalid_request"

_HORIZON: Final = "SELECT counterfoil.horizon()"
_NOW: Final = "SELECT counterfoil.now()"

_FITS: Final = """
   AND e.tenant_id = %(tenant_id)s
   AND (%(types)s::text[] IS NULL OR e.type = ANY(%(types)s))
   AND (%(actor)s::text IS NULL OR e.meta->'actor'->>'id' = %(actor)s)
   AND (%(since)s::timestamptz IS NULL OR e.recorded_at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR e.recorded_at < %(until)s)
   AND (%(correlation_id)s::text IS NULL
        OR e.meta->>'correlation_id' = %(correlation_id)s)
"""
_OF_STREAMS: Final = (
    COLUMNS
    + """
 WHERE e.stream_id = ANY(%(streams)s)
   AND e.position < %(before)s
"""
    + _FITS
    + " ORDER BY e.position DESC LIMIT %(limit)s"
)
_ALONG: Final = (
    COLUMNS
    + """
 WHERE e.position < %(before)s
   AND e.position >= %(last)s
"""
    + _FITS
    + " ORDER BY e.position DESC LIMIT %(limit)s"
)
# Where the look ends: the last of so many, and when that was.
_REACH: Final = """
SELECT e.position, e.recorded_at
  FROM counterfoil.events e
 WHERE e.position < %(before)s
 ORDER BY e.position DESC
OFFSET %(looked_at)s - 1
 LIMIT 1
"""
_FROM: Final = """
SELECT e.recorded_at
  FROM counterfoil.events e
 WHERE e.position >= %(position)s
 ORDER BY e.position
 LIMIT 1
"""


class EventsWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are wanted; None means any."""

    tenant_id: str
    stream_id: UUID | None = None
    correlation_id: str | None = None
    types: tuple[str, ...] = ()
    actor: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    """Before it."""
    before: int | None = None
    """Below this position; None: the newest."""
    limit: int = DEFAULT


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of events, the newest first; it may hold fewer than there are."""

    items: tuple[LogEvent, ...]
    next: int | None
    """Go on below this position; None: this was the end."""
    horizon: int
    """Up to this position everything is final."""
    now: Instant


@dataclass(frozen=True, slots=True)
class EventSearch:
    """Searches the log."""

    lend: Lend

    def __call__(self, wanted: EventsWanted) -> EventPage:
        """Return one page of events.

        Raises:
            InvalidRequestError: without a stream or a story it is too long a time.
        """
        streams = self._streams(wanted)
        with self.lend() as connection:
            # In a statement of its own, before the read: see migrations/0001_log.sql.
            horizon: int = _scalar(connection, _HORIZON, {})
            now: datetime = _scalar(connection, _NOW, {})
            before = min(wanted.before or horizon + 1, horizon + 1)
            if streams is not None:
                items, following = _of_streams(connection, wanted, streams, before)
            else:
                within = _within(wanted, now)
                items, following = _along(connection, within, before)
        return EventPage(items=items, next=following, horizon=horizon, now=now)

    def _streams(self, wanted: EventsWanted) -> tuple[UUID, ...] | None:
        if wanted.stream_id is not None:
            return (wanted.stream_id,)
        if wanted.correlation_id is None:
            return None
        return streams_of(self.lend, wanted.tenant_id, wanted.correlation_id)


def _within(wanted: EventsWanted, now: datetime) -> EventsWanted:
    """Return what is wanted, of a time that is not too long."""
    until = wanted.until or now
    try:
        since = wanted.since or until - LONGEST
    except OverflowError:
        since = until
    if until - since > LONGEST:
        rule = f"{LONGEST.days} days at most, unless a stream or correlationId is named"
        raise InvalidRequestError(INVALID_WINDOW, "from", rule)
    return msgspec.structs.replace(wanted, since=since)


type _Found = tuple[tuple[LogEvent, ...], int | None]


def _of_streams(
    connection: psycopg.Connection[Any],
    wanted: EventsWanted,
    streams: Sequence[UUID],
    before: int,
) -> _Found:
    given = _given(wanted) | {"streams": list(streams), "before": before}
    found = read_events(connection, _OF_STREAMS, given)
    items = tuple(found[: wanted.limit])
    return items, items[-1].position if len(found) > len(items) else None


def _along(
    connection: psycopg.Connection[Any], wanted: EventsWanted, before: int
) -> _Found:
    if wanted.until is not None:
        before = min(before, _first_after(connection, _later(wanted.until), before))
    given = _given(wanted) | {"before": before, "looked_at": LOOKED_AT}
    with connection.cursor(row_factory=tuple_row) as cursor:
        end = cursor.execute(_REACH, given).fetchone()
    last, at = end or (0, None)
    found = read_events(connection, _ALONG, given | {"last": last})
    items = tuple(found[: wanted.limit])
    if len(found) > len(items):
        return items, items[-1].position
    is_over = at is None or (wanted.since is not None and at < wanted.since - _SLACK)
    return items, None if is_over else last


def _later(instant: datetime) -> datetime:
    try:
        return instant + _SLACK
    except OverflowError:
        return instant


def _first_after(
    connection: psycopg.Connection[Any], instant: datetime, above: int
) -> int:
    """Return a position from which on everything was recorded after an instant."""
    low, high = 0, above
    while low < high:
        middle = (low + high) // 2
        at = _scalar(connection, _FROM, {"position": middle})
        if at is None or at > instant:
            high = middle
        else:
            low = middle + 1
    return high


def _given(wanted: EventsWanted) -> dict[str, object]:
    return {
        "tenant_id": wanted.tenant_id,
        "types": list(wanted.types) or None,
        "actor": wanted.actor,
        "since": wanted.since,
        "until": wanted.until,
        "correlation_id": wanted.correlation_id,
        "limit": wanted.limit + 1,
    }


def _scalar(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    given: dict[str, object],
) -> Any:  # noqa: ANN401 - whatever is asked for
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(statement, given).fetchone()
