"""Events that projections could not fold: letters too, told by who holds what back.

A stream that has one is left as it was before it, so all its later events wait for it:
they are one letter, that of the first.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import class_row

from domain.event import Instant
from projections.connections import Lend, one_snapshot
from projections.moment import read_moment
from projections.queries.letters.filter import LetterFilter

PROJECTION: Final = "projection"
"""The kind of these letters."""

MOST: Final = 200
"""Streams that are told."""

_LOOKED_AT: Final = 10_000
"""Events that are looked at; so many are set aside by one cause."""

_SET_ASIDE: Final = """
SELECT f.projection, f.stream_id, f.tenant_id, min(f.position) AS position,
       (array_agg(f.type ORDER BY f.position))[1] AS type,
       count(*) AS events, min(f.set_aside_at) AS died_at
  FROM counterfoil.projections p
 CROSS JOIN LATERAL (
       SELECT s.projection, s.stream_id, s.tenant_id, s.position, s.type,
              s.set_aside_at
         FROM counterfoil.projection_set_aside s
        WHERE s.projection = p.name
          AND s.slot = p.live
        ORDER BY s.position
        LIMIT %(looked_at)s) f
 GROUP BY f.projection, f.stream_id, f.tenant_id
 ORDER BY died_at DESC, f.projection, position
"""


class SetAside(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One stream that a projection has left as it was."""

    projection: str
    stream_id: UUID
    tenant_id: str
    position: int
    """Of the first event that could not be folded."""
    type: str
    events: int
    """Set aside of that stream: itself, and what waits behind it."""
    died_at: Instant
    """When the first one was set aside."""


@dataclass(frozen=True, slots=True)
class SetAsideStreams:
    """Tells which streams live read models have left behind."""

    lend: Lend

    def __call__(self, wanted: LetterFilter) -> tuple[SetAside, ...]:
        """Return the streams that fit, the last first.

        Their kind is `projection`, and their code is its name; they have no queue, no
        order, and met nothing.
        """
        is_none = wanted.queues or wanted.error_codes or wanted.order is not None
        if is_none or (wanted.kinds and PROJECTION not in wanted.kinds):
            return ()
        with (
            one_snapshot(self.lend) as connection,
            connection.cursor(row_factory=class_row(SetAside)) as cursor,
        ):
            streams = cursor.execute(_SET_ASIDE, {"looked_at": _LOOKED_AT}).fetchall()
            now = read_moment(connection).now
        return tuple(each for each in streams if _fits(each, wanted, now))[:MOST]


def _fits(stream: SetAside, wanted: LetterFilter, now: datetime) -> bool:
    age = now - stream.died_at
    return (
        (not wanted.codes or stream.projection in wanted.codes)
        and wanted.tenant_id in (None, stream.tenant_id)
        and (wanted.older_than is None or age > wanted.older_than)
        and (wanted.younger_than is None or age <= wanted.younger_than)
    )
