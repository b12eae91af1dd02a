"""Attempts to sign in, counted in the database: for all processes, whoever restarts."""

from typing import Final

from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.table import number

# Attempts beyond all measure are one too many each; the counter stands still there.
_TAKE: Final = """
INSERT INTO counterfoil.sign_in_attempts AS a (counted, attempts, window_ends)
VALUES (%(counted)b, 1, counterfoil.now() + interval '1 minute')
    ON CONFLICT (counted) DO UPDATE
   SET attempts = CASE WHEN a.window_ends <= counterfoil.now() THEN 1
                       ELSE least(a.attempts + 1, 1000000) END,
       window_ends = CASE WHEN a.window_ends <= counterfoil.now()
                          THEN EXCLUDED.window_ends ELSE a.window_ends END
RETURNING attempts, ceil(extract(epoch FROM window_ends - counterfoil.now()))::integer
"""

# More than one attempt can add; whoever locks one is counting it again.
_FORGET: Final = """
DELETE FROM counterfoil.sign_in_attempts
 WHERE counted = ANY(ARRAY(
        SELECT counted
          FROM counterfoil.sign_in_attempts
         WHERE window_ends < counterfoil.now() - interval '1 minute'
         ORDER BY window_ends
         LIMIT 20
           FOR UPDATE SKIP LOCKED))
"""


class PostgresAttempts:
    """See `Attempts`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def take(self, counted: bytes, most: int) -> int | None:
        """See `Attempts.take`."""
        with self._connections.connection() as connection:
            connection.execute(_FORGET)
            ((attempts, seconds),) = connection.execute(
                _TAKE, {"counted": counted}
            ).fetchall()
        return max(number(seconds), 1) if number(attempts) > most else None
