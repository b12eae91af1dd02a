"""Which indexes work has used, and how many rows it walked over without one.

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
SELECT relname, seq_tup_read
  FROM pg_stat_user_tables
 WHERE schemaname = 'counterfoil'
"""
FEW = 500
"""Rows of a table that may as well be read whole."""


class Watch:
    """Watches what the connections of one rig do."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.used: set[str] = set()
        """Indexes that were looked into."""
        self.walked: dict[str, int] = {}
        """Rows that were read by walking over a whole table of more than a few."""

    @contextmanager
    def watching(self) -> Generator[None]:
        """Watch what is done inside, over connections that are open already."""
        used, walked = self._counts(_INDEXES), self._counts(_WALKS)
        yield
        self.used = set(_risen(used, self._counts(_INDEXES)))
        rows = _risen(walked, self._counts(_WALKS))
        self.walked = {table: n for table, n in rows.items() if n > FEW}

    def _counts(self, statement: str) -> dict[str, int]:
        flush = "SELECT pg_stat_force_next_flush()"
        with self._rig.pool.connection() as pooled:
            pooled.execute(flush)
        connection = self._rig.connection
        connection.execute(flush)
        connection.execute("SELECT pg_stat_clear_snapshot()")
        return dict(connection.execute(statement).fetchall())  # type: ignore[arg-type]


def _risen(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {
        name: n - before.get(name, 0)
        for name, n in after.items()
        if n > before.get(name, 0)
    }
