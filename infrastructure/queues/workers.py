"""Rows of worker processes, which a person may ask to drain."""

from typing import Final
from uuid import UUID

from application.queues.rows import Changed, Decide
from application.unit import Once
from domain.event import Meta
from domain.queues.worker import Worker
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import (
    instant,
    maybe_instant,
    number,
    text,
    uuid,
)
from infrastructure.queues.rows import change

# A heartbeat updates the row too, and waits for as long as this takes.
_LOCK: Final = """
SELECT FROM counterfoil.workers WHERE boot_id = %(boot)s FOR NO KEY UPDATE
"""

_READ: Final = """
SELECT w.boot_id, w.host, w.pid, w.beat_at, w.stopped_at, w.draining_since,
       (SELECT count(*)
          FROM counterfoil.jobs j
         WHERE j.state = 'running'
           AND j.owner_boot = w.boot_id)
  FROM counterfoil.workers w
 WHERE w.boot_id = %(boot)s
"""

_WRITE: Final = """
UPDATE counterfoil.workers SET draining_since = %(since)s WHERE boot_id = %(boot)s
"""


class PostgresWorkers:
    """Changes workers over pooled connections; see `WorkerRows`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def change(
        self, boot: str, decide: Decide[Worker], meta: Meta, once: Once | None = None
    ) -> Changed[Worker] | None:
        """See `WorkerRows.change`."""
        try:
            row = _WorkerRow(UUID(boot))
        except ValueError:
            return None
        return change(self._connections, row, decide, meta, once)


class _WorkerRow:
    def __init__(self, boot: UUID) -> None:
        self._asked = {"boot": boot}

    def lock(self, connection: Connection) -> None:
        connection.execute(_LOCK, self._asked)

    def read(self, connection: Connection) -> Worker | None:
        row = connection.execute(_READ, self._asked).fetchone()
        if row is None:
            return None
        return Worker(
            boot=uuid(row[0]),
            host=text(row[1]),
            pid=number(row[2]),
            beat_at=instant(row[3]),
            stopped_at=maybe_instant(row[4]),
            draining_since=maybe_instant(row[5]),
            running=number(row[6]),
        )

    def write(self, connection: Connection, after: Worker) -> None:
        told = {"since": after.draining_since}
        connection.execute(_WRITE, {**self._asked, **told})
