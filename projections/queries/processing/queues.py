"""Queues: what people have set of them, what runs, and what is due."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from psycopg.rows import dict_row

from domain.event import Instant
from domain.queues.queue import STANDARD
from domain.text import is_storable
from projections.connections import Lend, one_snapshot
from projections.moment import read_moment

MOST_COUNTED: Final = 10_000
"""More jobs that are due are not counted."""

# From queue to queue, and from line to line, in their indexes, whatever waits there;
# and of each place and priority as many as are counted, from the first on.
_ALL: Final = """
WITH RECURSIVE opens(queue) AS (
    SELECT min(j.queue) FROM counterfoil.jobs j
     WHERE j.state = 'waiting' AND NOT j.is_suspect AND NOT j.in_line
     UNION ALL
    SELECT (SELECT min(j.queue) FROM counterfoil.jobs j
             WHERE j.state = 'waiting' AND NOT j.is_suspect AND NOT j.in_line
               AND j.queue > o.queue)
      FROM opens o
     WHERE o.queue IS NOT NULL
), lines(queue, tenant_id) AS (
    (SELECT j.queue, j.tenant_id FROM counterfoil.jobs j
      WHERE j.state = 'waiting' AND NOT j.is_suspect AND j.in_line
      ORDER BY j.queue, j.tenant_id
      LIMIT 1)
     UNION ALL
    SELECT f.queue, f.tenant_id
      FROM lines l
     CROSS JOIN LATERAL (
           SELECT j.queue, j.tenant_id FROM counterfoil.jobs j
            WHERE j.state = 'waiting' AND NOT j.is_suspect AND j.in_line
              AND (j.queue, j.tenant_id) > (l.queue, l.tenant_id)
            ORDER BY j.queue, j.tenant_id
            LIMIT 1) f
), waiting AS (
    SELECT o.queue, due.n, due.since
      FROM opens o
     CROSS JOIN generate_series(1, 4) AS p(priority)
     CROSS JOIN LATERAL (
           SELECT count(*) AS n, min(d.run_at) AS since
             FROM (SELECT j.run_at FROM counterfoil.jobs j
                    WHERE j.state = 'waiting' AND NOT j.is_suspect AND NOT j.in_line
                      AND j.queue = o.queue
                      AND j.priority = p.priority
                      AND j.run_at <= counterfoil.now()
                    ORDER BY j.run_at
                    LIMIT %(most)s + 1) d) due
     WHERE o.queue IS NOT NULL
     UNION ALL
    SELECT l.queue, due.n, due.since
      FROM lines l
     CROSS JOIN generate_series(1, 4) AS p(priority)
     CROSS JOIN LATERAL (
           SELECT count(*) AS n, min(d.run_at) AS since
             FROM (SELECT j.run_at FROM counterfoil.jobs j
                    WHERE j.state = 'waiting' AND NOT j.is_suspect AND j.in_line
                      AND j.queue = l.queue
                      AND j.tenant_id = l.tenant_id
                      AND j.priority = p.priority
                      AND j.run_at <= counterfoil.now()
                    ORDER BY j.run_at
                    LIMIT %(most)s + 1) d) due
), due AS (
    SELECT queue, sum(n)::bigint AS n, min(since) AS since FROM waiting GROUP BY queue
), running AS (
    SELECT queue, count(*) AS n
      FROM counterfoil.jobs
     WHERE state = 'running'
     GROUP BY queue
), names(name) AS (
    SELECT queue FROM due UNION SELECT queue FROM running
     UNION SELECT name FROM counterfoil.queues
     UNION SELECT unnest(%(standard)s::text[])
)
SELECT n.name, q.version, q.concurrency, q.paused_at, q.paused_until, q.paused_by,
       q.paused_reason, coalesce(r.n, 0) AS running, coalesce(d.n, 0) AS due,
       d.since AS due_since
  FROM names n
  LEFT JOIN counterfoil.queues q ON q.name = n.name
  LEFT JOIN running r ON r.queue = n.name
  LEFT JOIN due d ON d.queue = n.name
 WHERE %(name)s::text IS NULL OR n.name = %(name)s
 ORDER BY n.name
"""


class Paused(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Since when and until when a queue is paused, by whom and why."""

    at: Instant
    until: Instant
    by: str
    reason: str


class QueueLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One queue."""

    name: str
    version: int
    """Of what people have set; 0: nobody has set anything."""
    concurrency: int | None
    """How many of its jobs may run at once, over all processes; None: no limit."""
    paused: Paused | None
    running: int
    """Jobs that a process holds, whatever its lease says."""
    due: int
    """Jobs that could be claimed now but for pauses, limits and keys."""
    is_due_capped: bool
    """Whether more are due than are counted."""
    due_since: Instant | None
    """Since when the oldest of them is due."""


class QueuePage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All queues at the moment that is shown."""

    now: Instant
    queues: tuple[QueueLine, ...]
    live_workers: int


@dataclass(frozen=True, slots=True)
class QueueList:
    """Tells how queues stand."""

    lend: Lend

    def __call__(self, name: str | None = None) -> QueuePage:
        """Return every queue that is known, or the one that is named, if it is."""
        # What PostgreSQL cannot know is the name of no queue, and neither is nothing.
        known = name if is_storable(name or "") else ""
        asked = {"name": known, "most": MOST_COUNTED, "standard": list(STANDARD)}
        with one_snapshot(self.lend) as connection:
            moment = read_moment(connection)
            with connection.cursor(row_factory=dict_row) as cursor:
                rows = cursor.execute(_ALL, asked).fetchall()
        return QueuePage(
            now=moment.now,
            queues=tuple(_line(row, moment.now) for row in rows),
            live_workers=moment.live_workers,
        )


def _line(row: Mapping[str, Any], now: Instant) -> QueueLine:
    until: Instant | None = row["paused_until"]
    return QueueLine(
        name=row["name"],
        version=row["version"] or 0,
        concurrency=row["concurrency"],
        paused=Paused(
            at=row["paused_at"],
            until=until,
            by=row["paused_by"],
            reason=row["paused_reason"],
        )
        if until is not None and until > now
        else None,
        running=row["running"],
        due=min(row["due"], MOST_COUNTED),
        is_due_capped=row["due"] > MOST_COUNTED,
        due_since=row["due_since"],
    )
