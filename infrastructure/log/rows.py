"""The log's rows as followers and the library's recorder read them."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import args_row, class_row, scalar_row

LAST_VERSION: Final = 2_147_483_647
"""The greatest number that the column `version` can hold."""

# Casts to text: psycopg would build Python objects from jsonb, only to be thrown away.
_READ_LOG: Final = """
SELECT position, tenant_id, stream_id, version, type AS tag, schema,
       data::text AS data, meta::text AS meta, recorded_at
  FROM counterfoil.events
 WHERE position > %(after)s
   AND position <= %(until)s
 ORDER BY position
 LIMIT %(limit)s
"""

_READ_LOG_OF_TAGS: Final = """
SELECT position, tenant_id, stream_id, version, type AS tag, schema,
       data::text AS data, meta::text AS meta, recorded_at
  FROM counterfoil.events
 WHERE position > %(after)s
   AND position <= %(until)s
   AND (type, schema) IN (SELECT *
                            FROM unnest(%(tags)s::text[], %(schemas)s::smallint[]))
 ORDER BY position
 LIMIT %(limit)s
"""

# A family is what a tag begins with, up to its dot.
_READ_LOG_OF_FAMILIES: Final = """
SELECT position, tenant_id, stream_id, version, type AS tag, schema,
       data::text AS data, meta::text AS meta, recorded_at
  FROM counterfoil.events
 WHERE position > %(after)s
   AND position <= %(until)s
   AND split_part(type, '.', 1) = ANY(%(families)s)
 ORDER BY position
 LIMIT %(limit)s
"""

_NEXT: Final = """
SELECT min(position) FROM counterfoil.events WHERE position > %(after)s
"""

_READ_STREAM: Final = """
SELECT position, tenant_id, stream_id, version, type AS tag, schema,
       data::text AS data, meta::text AS meta, recorded_at
  FROM counterfoil.events
 WHERE stream_id = %(stream_id)s
   AND version > %(after)s
   AND version <= %(until)s
 ORDER BY version
 LIMIT %(limit)s
"""

_READ_STREAM_BACKWARDS: Final = """
SELECT position, tenant_id, stream_id, version, type AS tag, schema,
       data::text AS data, meta::text AS meta, recorded_at
  FROM counterfoil.events
 WHERE stream_id = %(stream_id)s
   AND version > %(after)s
   AND version <= %(until)s
 ORDER BY version DESC
 LIMIT %(limit)s
"""


class EventRow(NamedTuple):
    """One row of the log, its JSON still text."""

    position: int
    tenant_id: str
    stream_id: UUID
    version: int
    tag: str
    schema: int
    data: str
    meta: str
    recorded_at: datetime

    def recorded_at_utc(self) -> datetime:
        """Return when it was recorded; a connection may have another time zone."""
        at = self.recorded_at
        return at if at.tzinfo is UTC else at.astimezone(UTC)


class Window(NamedTuple):
    """Which numbers to read (positions or versions), and how many at most."""

    after: int = 0
    """Exclusive."""
    until: int = LAST_VERSION
    """Inclusive."""
    limit: int | None = None


WHOLE_STREAM: Final = Window()

type Tags = list[tuple[str, int]]
"""Tags with the numbers of their schemas."""


def read_log(
    connection: psycopg.Connection[Any],
    window: Window,
    only: Tags | None = None,
    *,
    families: Collection[str] | None = None,
) -> list[EventRow]:
    """Return rows in the order of the log; `window.until` is at most the horizon."""
    parameters: dict[str, object] = window._asdict()
    statement = _READ_LOG
    if families is not None:
        statement = _READ_LOG_OF_FAMILIES
        parameters["families"] = sorted(families)
    if only:
        statement = _READ_LOG_OF_TAGS
        parameters["tags"] = [tag for tag, _ in only]
        parameters["schemas"] = [schema for _, schema in only]
    with connection.cursor(binary=True, row_factory=args_row(EventRow)) as cursor:
        return cursor.execute(statement, parameters, prepare=True).fetchall()


def next_position(connection: psycopg.Connection[Any], after: int) -> int | None:
    """Return the first position behind `after` that holds an event."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_NEXT, {"after": after}, prepare=True).fetchone()


def read_stream(
    connection: psycopg.Connection[Any],
    stream_id: UUID,
    window: Window = WHOLE_STREAM,
    *,
    backwards: bool = False,
) -> list[EventRow]:
    """Return rows of one stream by version; one stream is committed in order."""
    parameters: dict[str, object] = {"stream_id": stream_id, **window._asdict()}
    statement = _READ_STREAM_BACKWARDS if backwards else _READ_STREAM
    with connection.cursor(row_factory=class_row(EventRow)) as cursor:
        return cursor.execute(statement, parameters, prepare=True).fetchall()
