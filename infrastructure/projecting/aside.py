"""Events that a projection could not fold: kept apart, with the reason."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import scalar_row, tuple_row

from domain.text import storable
from infrastructure.projecting.folding import Aside

type Connection = psycopg.Connection[Any]

_STUCK: Final = """
SELECT stream_id, min(position)
  FROM counterfoil.projection_set_aside
 WHERE projection = %(projection)s
   AND slot = %(slot)s
   AND stream_id = ANY(%(streams)s::uuid[])
 GROUP BY stream_id
"""

_KEEP: Final = """
INSERT INTO counterfoil.projection_set_aside
       (projection, slot, position, tenant_id, stream_id, version, type, reason)
SELECT %(projection)s, %(slot)s, a.*
  FROM unnest(%(positions)s::bigint[], %(tenants)s::text[], %(streams)s::uuid[],
              %(versions)s::int[], %(tags)s::text[], %(reasons)s::text[]) AS a
    ON CONFLICT (projection, slot, position) DO NOTHING
"""

_STREAMS: Final = """
SELECT stream_id
  FROM counterfoil.projection_set_aside
 WHERE projection = %(projection)s
   AND slot = %(slot)s
 GROUP BY stream_id
 ORDER BY min(position)
"""

_FORGET: Final = """
DELETE FROM counterfoil.projection_set_aside
 WHERE projection = %(projection)s
   AND slot = %(slot)s
   AND stream_id = %(stream_id)s
RETURNING position
"""

_LEFT: Final = """
SELECT count(*)
  FROM counterfoil.projection_set_aside
 WHERE projection = %(projection)s
   AND slot = %(slot)s
"""


class SetAside:
    """What one projection has set aside in one of its slots."""

    def __init__(self, projection: str, slot: str) -> None:
        """Take the projection's name and the slot."""
        self._of: dict[str, object] = {"projection": projection, "slot": slot}

    def stuck(self, connection: Connection, streams: Sequence[UUID]) -> dict[UUID, int]:
        """Return those streams that have an event here, with the first one's place."""
        asked = self._of | {"streams": streams}
        with connection.cursor(row_factory=tuple_row) as cursor:
            return dict(cursor.execute(_STUCK, asked, prepare=True).fetchall())

    def keep(self, connection: Connection, aside: Sequence[Aside]) -> None:
        """Set events aside."""
        if not aside:
            return
        found = [each.found for each in aside]
        told = self._of | {
            "positions": [each.position for each in found],
            "tenants": [each.tenant_id for each in found],
            "streams": [each.stream_id for each in found],
            "versions": [each.version for each in found],
            "tags": [each.tag for each in found],
            "reasons": [storable(each.reason) for each in aside],
        }
        connection.execute(_KEEP, told)

    def streams(self, connection: Connection) -> list[UUID]:
        """Return the streams that have an event here, the oldest first."""
        with connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(_STREAMS, self._of).fetchall()

    def forget(self, connection: Connection, stream_id: UUID) -> frozenset[int]:
        """Return the positions of a stream's events, which are here no more."""
        told = self._of | {"stream_id": stream_id}
        with connection.cursor(row_factory=scalar_row) as cursor:
            return frozenset(cursor.execute(_FORGET, told).fetchall())

    def left(self, connection: Connection) -> int:
        """Return how many events there are."""
        with connection.cursor(row_factory=scalar_row) as cursor:
            return int(cursor.execute(_LEFT, self._of).fetchall()[0])
