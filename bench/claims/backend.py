"""What one backend of the server has spent: processor time, and pages looked at."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number

_FLUSH: Final = "SELECT pg_stat_force_next_flush()"

# Of relations, each look at a page counted, in memory or not (PostgreSQL 18).
_PAGES: Final = """
SELECT sum(hits + reads)::bigint
  FROM pg_stat_get_backend_io(%(pid)s)
 WHERE object = 'relation'
"""


@dataclass(frozen=True, slots=True)
class Backend:
    """The backend behind `connection`, seen from outside."""

    connection: Connection
    observer: Connection

    def processor_ms(self) -> float:
        """Return the time that it was on a processor, to the nanosecond."""
        told = Path(f"/proc/{self.connection.info.backend_pid}/schedstat").read_text()
        return int(told.split()[0]) / 1e6

    def pages(self) -> int:
        """Return how many pages it has looked at, the question's own few included."""
        self.connection.execute(_FLUSH)
        asked = {"pid": self.connection.info.backend_pid}
        return number(self.observer.execute(_PAGES, asked).fetchall()[0][0])
