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


def last_of_streams(connection: Connection, streams: Sequence[UUID]) -> int:
    """Return where the last event of all these streams is; 0 when they have none."""
    ids = {"ids": list(streams)}
    ((position,),) = connection.execute(_OF_STREAMS, ids).fetchall()
    return number(position)
