"""The product's own reader of the log: decoded events, up to the horizon."""

import re
from collections.abc import Collection
from typing import Final
from uuid import UUID

import msgspec

from domain.recorded import RecordedEvent
from infrastructure.log.horizon import Horizon, Lend
from infrastructure.log.rows import (
    EventRow,
    Window,
    next_position,
    read_log,
    read_stream,
)
from infrastructure.postgres.codec import UnknownEventError, decode_event, decode_meta


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """One event that this binary cannot decode, and why."""

    position: int
    tenant_id: str
    stream_id: UUID
    version: int
    tag: str
    schema: int
    reason: str
    """Never what the event holds."""


type Found = RecordedEvent | Unreadable


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the log holds, for ever, in the positions (after, until]."""

    after: int
    until: int
    events: list[Found]
    """In order; of the families that were asked for."""


class Follower:
    """Reads the log in order without ever skipping an event."""

    def __init__(self, lend: Lend, horizon: Horizon) -> None:
        """Take where to borrow connections, and the process's one horizon."""
        self._lend = lend
        self._horizon = horizon

    def read(
        self,
        after: int,
        most: int,
        *,
        until: int | None = None,
        families: Collection[str] | None = None,
    ) -> Batch:
        """Return the events of at most `most` positions behind `after`, in order.

        A wider gap is passed at once.  Nothing that is committed later will have a
        position at or below the batch's end, which is `after` itself while the
        horizon is not beyond it.  An `until`
        that some horizon of this process had reached already needs no new look.  A
        family is what a tag begins with, up to its dot.
        """
        end = until
        if end is None or end > self._horizon.highest:
            horizon = self._horizon.current()
            end = horizon if end is None else min(end, horizon)
        if end <= after:
            return Batch(after=after, until=after, events=[])
        # Bounded on both sides, it is read by its index whatever the planner believes:
        # by LIMIT alone, the rest of a table that was never analyzed was sorted.
        stop = min(end, after + most)
        with self._lend() as connection:
            rows = read_log(connection, Window(after, stop), families=families)
            if not rows and stop < end:
                following = next_position(connection, stop)
                stop = end if following is None else min(end, following - 1)
        return Batch(after=after, until=stop, events=[decoded(row) for row in rows])

    def read_stream(self, stream_id: UUID, until: int | None = None) -> list[Found]:
        """Return the committed stream in order, up to the position `until`."""
        with self._lend() as connection:
            rows = read_stream(connection, stream_id)
        return [decoded(row) for row in rows if until is None or row.position <= until]


def decoded(row: EventRow) -> Found:
    """Return one row of the log as an event, or why it cannot be one."""
    try:
        return RecordedEvent(
            position=row.position,
            tenant_id=row.tenant_id,
            stream_id=row.stream_id,
            version=row.version,
            tag=row.tag,
            schema=row.schema,
            event=decode_event(row.tag, row.schema, row.data),
            meta=decode_meta(row.meta),
            recorded_at=row.recorded_at_utc(),
        )
    except (UnknownEventError, msgspec.DecodeError, RecursionError) as error:
        return Unreadable(
            position=row.position,
            tenant_id=row.tenant_id,
            stream_id=row.stream_id,
            version=row.version,
            tag=row.tag,
            schema=row.schema,
            reason=_reason(error),
        )


_PLACE: Final = re.compile(r" - at `(\$[^`]*)`$")


def _reason(error: Exception) -> str:
    """Return why, without the value that the decoder may have quoted (I12)."""
    if isinstance(error, UnknownEventError):
        return str(error)
    place = _PLACE.search(str(error))
    return f"its data or meta does not fit, at {place.group(1) if place else '$'}"
