"""Rows of queues: pauses and limits, which every claim asks for.

Whoever changes one holds the lock of its claims alone (`counterfoil.claimable`): he
waits until those under way are over, and none is made meanwhile.
"""

from typing import Final

from application.queues.rows import Changed, Decide
from application.unit import Once
from domain.event import Meta
from domain.queues.queue import STANDARD, Queue, QueuePause
from domain.text import is_storable
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant, number, text
from infrastructure.queues.rows import change

_LOCK: Final = """
SELECT pg_advisory_xact_lock(
           hashtextextended('counterfoil.queue:' || %(name)s::text, 0))
"""

_READ: Final = """
SELECT version, concurrency, paused_at, paused_until, paused_by, paused_reason
  FROM counterfoil.queues
 WHERE name = %(name)s
"""

# A queue is there when its jobs are, or when somebody has set something of it.
_HAS_JOBS: Final = """
SELECT EXISTS (SELECT FROM counterfoil.jobs j WHERE j.queue = %(name)s)
"""

_WRITE: Final = """
INSERT INTO counterfoil.queues AS q
       (name, version, concurrency, paused_at, paused_until, paused_by, paused_reason)
VALUES (%(name)s, %(version)s, %(concurrency)s, %(at)s, %(until)s, %(by)s, %(reason)s)
ON CONFLICT (name) DO UPDATE
   SET version = excluded.version,
       concurrency = excluded.concurrency,
       paused_at = excluded.paused_at,
       paused_until = excluded.paused_until,
       paused_by = excluded.paused_by,
       paused_reason = excluded.paused_reason,
       changed_at = counterfoil.now()
"""


class PostgresQueues:
    """Changes queues over pooled connections; see `QueueRows`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def change(
        self, name: str, decide: Decide[Queue], meta: Meta, once: Once | None = None
    ) -> Changed[Queue] | None:
        """See `QueueRows.change`."""
        if not is_storable(name):
            return None
        return change(self._connections, _QueueRow(name), decide, meta, once)


class _QueueRow:
    def __init__(self, name: str) -> None:
        self._name = name
        self._asked = {"name": name}

    def lock(self, connection: Connection) -> None:
        connection.execute(_LOCK, self._asked)

    def read(self, connection: Connection) -> Queue | None:
        row = connection.execute(_READ, self._asked).fetchone()
        if row is not None:
            return _queue(self._name, row)
        if self._name in STANDARD:
            return Queue(name=self._name)
        ((has_jobs,),) = connection.execute(_HAS_JOBS, self._asked).fetchall()
        return Queue(name=self._name) if has_jobs else None

    def write(self, connection: Connection, after: Queue) -> None:
        pause = after.pause
        told = {
            "version": after.version,
            "concurrency": after.concurrency,
            "at": None if pause is None else pause.at,
            "until": None if pause is None else pause.until,
            "by": None if pause is None else pause.by,
            "reason": None if pause is None else pause.reason,
        }
        connection.execute(_WRITE, {**self._asked, **told})


def _queue(name: str, row: tuple[object, ...]) -> Queue:
    return Queue(
        name=name,
        version=number(row[0]),
        concurrency=None if row[1] is None else number(row[1]),
        pause=None
        if row[2] is None
        else QueuePause(
            at=instant(row[2]),
            until=instant(row[3]),
            by=text(row[4]),
            reason=text(row[5]),
        ),
    )
