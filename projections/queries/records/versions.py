"""Which version of a stream a row shows: the one that its position had reached."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg.rows import scalar_row

from projections.connections import Lend

# What is at or before a position that was read stays as it is.
_AT: Final = """
SELECT e.version
  FROM counterfoil.events e
 WHERE e.stream_id = %(stream_id)s
   AND e.position <= %(position)s
 ORDER BY e.version DESC
 LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class StreamVersions:
    """Tells versions of streams."""

    lend: Lend

    def __call__(self, stream_id: UUID, position: int) -> int:
        """Return the version that the stream had at that position; 0: none yet."""
        given = {"stream_id": stream_id, "position": position}
        with (
            self.lend() as connection,
            connection.cursor(row_factory=scalar_row) as cursor,
        ):
            found: int | None = cursor.execute(_AT, given).fetchone()
        return found or 0
