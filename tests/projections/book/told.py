"""The log as whoever knows nothing of the product reads it: rows of plain JSON."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

type Row = dict[str, object]
type Rows = dict[tuple[object, ...], Row]

READ = """
SELECT position, tenant_id, stream_id, version, type, data, meta, recorded_at
  FROM counterfoil.events
 WHERE position <= %(until)s
   AND (split_part(type, '.', 1) = ANY(%(words)s) OR %(words)s = '{}')
 ORDER BY position
"""


class Told(NamedTuple):
    """One event."""

    position: int
    tenant_id: str
    stream_id: UUID
    version: int
    type: str
    data: dict[str, Any]
    meta: dict[str, Any]
    at: datetime


def read(connection: psycopg.Connection[Any], until: int, *words: str) -> list[Told]:
    """Return the events whose tags begin with one of the words; none: all."""
    parameters = {"until": until, "words": list(words)}
    with connection.cursor() as cursor:
        return [Told(*row) for row in cursor.execute(READ, parameters)]


def streams(events: Iterable[Told]) -> dict[UUID, list[Told]]:
    """Return the events of each stream, in their order."""
    found: dict[UUID, list[Told]] = {}
    for event in sorted(events, key=lambda it: (it.stream_id, it.version)):
        found.setdefault(event.stream_id, []).append(event)
    return found


def last(
    events: Sequence[Told],
    says: Mapping[str, Callable[[Told], Any] | None],
    otherwise: object = None,
) -> Any:  # noqa: ANN401 - a column's value
    """Return what the last event that says something about a column says.

    None of `says` means that such an event empties the column.
    """
    for event in reversed(events):
        if event.type in says:
            said = says[event.type]
            return None if said is None else said(event)
    return otherwise


def member(name: str) -> Callable[[Told], Any]:
    """Return what reads a member of the data."""
    return lambda event: event.data[name]


def moment(name: str) -> Callable[[Told], Any]:
    """Return what reads an instant, or that there is none."""
    return lambda event: instant(event.data[name])


def instant(text: str | None) -> datetime | None:
    """Return the instant that a text tells."""
    return None if text is None else datetime.fromisoformat(text)


def id_of(text: str | None) -> UUID | None:
    """Return the id that a text tells."""
    return None if text is None else UUID(text)


def at(event: Told) -> datetime:
    """Return when it was recorded."""
    return event.at


def common(events: Sequence[Told]) -> Row:
    """Return what every row of a stream has."""
    return {
        "stream_id": events[0].stream_id,
        "tenant_id": events[0].tenant_id,
        "correlation_id": events[0].meta["correlation_id"],
        "created_at": events[0].at,
        "updated_at": events[-1].at,
    }
