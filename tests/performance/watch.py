"""Which indexes work has used, and which tables it read whole without one.

The server's own statistics tell, so it does not matter where a statement stands: in
Python, in a function, prepared or not.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from tests.processor.rig import Rig

_INDEXES = """
SELECT indexrelname, idx_scan
  FROM pg_stat_user_indexes
 WHERE schemaname = 'counterfoil'
"""
_WALKS = """
SELECT relname, seq_scan
  FROM pg_stat_user_tables
 WHERE schemaname = 'counterfoil'
   AND pg_relation_size(relid) > 16 * 8192
"""
"""A table of a few pages may as well be read whole."""


class Watch:
    """Watches what the connections of one rig do."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.used: set[str] = set()
        """Indexes that were looked into."""
        self.walked: dict[str, int] = {}
        """How often a whole table of more than a few pages was read."""

    @contextmanager
    def watching(self) -> Generator[None]:
        """Watch what is done inside, over connections that are open already."""
        used, walked = self._counts(_INDEXES), self._counts(_WALKS)
        yield
        self.used = set(_risen(used, self._counts(_INDEXES)))
        self.walked = _risen(walked, self._counts(_WALKS))

    def _counts(self, statement: str) -> dict[str, int]:
        flush = "SELECT pg_stat_force_next_flush()"
        with self._rig.pool.connection() as pooled:
            pooled.execute(flush)
        connection = self._rig.connection
        connection.execute(flush)
        connection.execute("SELECT pg_stat_clear_snapshot()")
        return dict(connection.execute(statement).fetchall())


def _risen(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {
        name: n - before.get(name, 0)
        for name, n in after.items()
        if n > before.get(name, 0)
    }
