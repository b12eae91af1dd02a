"""One event as a person reads it: what happened, when, who did it and why.

Arguments and results of jobs belong to whoever enqueued them and may hold anything,
so nothing but the names of their members is ever shown (I12).
"""

from collections.abc import Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import tuple_row

from domain.event import Actor, Instant, JsonObject, Meta
from domain.members import is_object

_HIDDEN: Final = ("args", "result")

COLUMNS: Final = """
SELECT e.position, e.tenant_id, e.stream_id, e.version, e.type, e.schema,
       e.data::text, e.meta::text, e.recorded_at
  FROM counterfoil.events e
"""

_meta = msgspec.json.Decoder(Meta)
_UNREADABLE: Final = Meta(actor=Actor("system", "unreadable"), correlation_id="")
_decoder = msgspec.json.Decoder(dict[str, object])


class LogEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One row of the log, fit to be shown."""

    position: int
    tenant_id: str
    stream_id: UUID
    version: int
    type: str
    schema: int
    data: JsonObject
    meta: Meta
    recorded_at: Instant

    def told(self, member: str) -> str | None:
        """Return a member of the data as text, or None when there is none."""
        value = self.data.get(member)
        return None if value is None else str(value)


def read_events(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    parameters: dict[str, object],
) -> list[LogEvent]:
    """Return the rows of a statement that begins with `COLUMNS`."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(statement, parameters).fetchall()
    return [_event(row) for row in rows]


def _event(row: Sequence[Any]) -> LogEvent:
    return LogEvent(
        position=row[0],
        tenant_id=row[1],
        stream_id=row[2],
        version=row[3],
        type=row[4],
        schema=row[5],
        data=_shown(_data(row[6])),
        meta=_read_meta(row[7]),
        recorded_at=row[8],
    )


def _data(told: str) -> JsonObject:
    """Return the data of an event; what nobody can decode hides no other event."""
    try:
        return _decoder.decode(told)
    except (msgspec.DecodeError, RecursionError):
        return {"unreadable": len(told)}


def _read_meta(told: str) -> Meta:
    """Return who and why, or that somebody wrote it who did not say so as we do."""
    try:
        return _meta.decode(told)
    except (msgspec.DecodeError, RecursionError):
        return _UNREADABLE


def _shown(data: JsonObject) -> JsonObject:
    shown: JsonObject = {
        name: sorted(value) if name in _HIDDEN and is_object(value) else value
        for name, value in data.items()
    }
    if shown.get("gate") is not None:
        # What is stored is the end of time; nobody knows when a gate opens.
        shown["until"] = None
    return shown
