"""Worker processes: where they are, whether they live, and what they run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
from psycopg.rows import dict_row

from domain.event import Instant
from domain.queues.worker import Worker
from projections.connections import Lend, one_snapshot
from projections.moment import read_moment

MOST: Final = 500
"""Processes of one answer, those that were heard of last."""
MOST_SHOWN: Final = 20
"""Jobs that are named of each; all are counted."""

# Who has stopped in order is of interest for a day, and for as long as it holds jobs.
_WORKERS: Final = """
WITH held AS (
    SELECT j.owner_boot, count(*) AS running,
           (array_agg(ARRAY[j.stream_id::text, j.kind, j.queue]
                      ORDER BY j.stream_id))[1:%(shown)s] AS jobs
      FROM counterfoil.jobs j
     WHERE j.state = 'running'
     GROUP BY j.owner_boot
)
SELECT w.boot_id, w.host, w.pid, w.roles, w.kinds, w.started_at, w.beat_at,
       w.stopped_at, w.draining_since, coalesce(h.running, 0) AS running, h.jobs
  FROM counterfoil.workers w
  LEFT JOIN held h ON h.owner_boot = w.boot_id
 WHERE CASE WHEN %(boot)s::uuid IS NULL
            THEN w.beat_at > counterfoil.now() - interval '1 day'
                 OR h.running IS NOT NULL
            ELSE w.boot_id = %(boot)s END
 ORDER BY w.beat_at DESC, w.boot_id
 LIMIT %(most)s
"""


class RunningJob(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One job that a process holds."""

    job_id: UUID
    kind: str
    queue: str


class WorkerLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One process that claims jobs, or did."""

    boot_id: UUID
    host: str
    pid: int
    state: str
    """`alive`, `draining`, `drained`, `stopped` or `silent`."""
    roles: tuple[str, ...]
    kinds: tuple[str, ...]
    """Kinds of job that it runs."""
    started_at: Instant
    beat_at: Instant
    """When it was heard of last."""
    stopped_at: Instant | None
    draining_since: Instant | None
    running: int
    """How many jobs it holds."""
    jobs: tuple[RunningJob, ...]
    """The first of them."""


class WorkerPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The processes that were heard of within a day, the last one first."""

    now: Instant
    workers: tuple[WorkerLine, ...]


@dataclass(frozen=True, slots=True)
class WorkerList:
    """Tells which workers there are."""

    lend: Lend

    def __call__(self, boot: UUID | None = None) -> WorkerPage:
        """Return the processes, or the one that is named, if it ever was."""
        asked = {"boot": boot, "most": MOST, "shown": MOST_SHOWN}
        with one_snapshot(self.lend) as connection:
            now = read_moment(connection).now
            with connection.cursor(row_factory=dict_row) as cursor:
                rows = cursor.execute(_WORKERS, asked).fetchall()
        return WorkerPage(now=now, workers=tuple(_line(row, now) for row in rows))


def _line(row: Mapping[str, Any], now: Instant) -> WorkerLine:
    worker = Worker(
        boot=row["boot_id"],
        host=row["host"],
        pid=row["pid"],
        beat_at=row["beat_at"],
        stopped_at=row["stopped_at"],
        draining_since=row["draining_since"],
        running=row["running"],
    )
    return WorkerLine(
        boot_id=worker.boot,
        host=worker.host,
        pid=worker.pid,
        state=worker.state(now),
        roles=tuple(row["roles"]),
        kinds=tuple(row["kinds"]),
        started_at=row["started_at"],
        beat_at=worker.beat_at,
        stopped_at=worker.stopped_at,
        draining_since=worker.draining_since,
        running=worker.running,
        jobs=tuple(
            RunningJob(job_id=UUID(id_), kind=kind, queue=queue)
            for id_, kind, queue in row["jobs"] or ()
        ),
    )
