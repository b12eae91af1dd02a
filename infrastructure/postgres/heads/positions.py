"""Where in the log streams end: what is answered when something is so already."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number

# One look at the key for each, however long its stream is.
_OF_STREAMS: Final = """
SELECT coalesce(max(l.position), 0)
  FROM unnest(%(ids)s::uuid[]) AS s (stream_id)
 CROSS JOIN LATERAL (
    SELECT e.position
      FROM counterfoil.events e
     WHERE e.stream_id = s.stream_id
     ORDER BY e.version DESC
     LIMIT 1) l
"""

_OF_WINDOWS: Final = """
SELECT coalesce(max(e.position), 0)
  FROM counterfoil.maintenance w
  JOIN counterfoil.events e ON e.stream_id = w.stream_id AND e.version = w.version
"""


def last_of_streams(connection: Connection, streams: Sequence[UUID]) -> int:
    """Return where the last event of all these streams is; 0 when they have none."""
    ids = {"ids": list(streams)}
    ((position,),) = connection.execute(_OF_STREAMS, ids).fetchall()
    return number(position)


def last_of_windows(connection: Connection) -> int:
    """Return where the last event of all windows is; 0 when there was none."""
    ((position,),) = connection.execute(_OF_WINDOWS).fetchall()
    return number(position)
