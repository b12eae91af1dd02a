"""One job that is not over, or dead, in a line: its state, why, and until when.

A job is `known` while a worker lives that knows its kind; a kind that nobody knows is
left alone, and visible here.
"""

from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

from domain.event import Instant

# The claim's own order within a serial key: who holds the last slot that we may have,
# or is to have the last free one, before us.
LIVE: Final = """
SELECT j.stream_id AS job_id, j.tenant_id, j.kind, j.queue, j.priority, j.state,
       CASE WHEN j.state = 'waiting' THEN
           coalesce(j.cause,
                    CASE WHEN j.run_at <= counterfoil.now() THEN 'due'
                         ELSE 'not_due' END)
       END AS cause,
       j.attempt, j.max_attempts, j.parkings,
       CASE WHEN j.gate IS NULL THEN j.run_at END AS run_at,
       j.gate,
       CASE WHEN j.gate IS NOT NULL THEN
           (SELECT min(g.since)
              FROM counterfoil.gates g
             WHERE g.gate IN (j.gate, 'all'))
       END AS gate_closed_since,
       j.deadline, NULL::text AS code, j.error_code, j.owner_host, j.owner_pid,
       (SELECT e.recorded_at
          FROM counterfoil.events e
         WHERE e.stream_id = j.stream_id
           AND e.version = j.token) AS claimed_at,
       j.lease_until, j.cancel_requested,
       CASE WHEN j.state = 'waiting' AND j.serial_key IS NOT NULL THEN coalesce(
           (SELECT r.job_id
              FROM counterfoil.running_keys r
             WHERE r.tenant_id = j.tenant_id
               AND r.key = j.serial_key
               AND r.slot <= j.concurrency_limit
             ORDER BY r.slot
            OFFSET j.concurrency_limit - 1
             LIMIT 1),
           (SELECT b.stream_id
              FROM counterfoil.jobs b
             WHERE b.tenant_id = j.tenant_id
               AND b.serial_key = j.serial_key
               AND b.state = 'waiting'
               AND b.run_at <= counterfoil.now()
               AND (b.serial_order, b.run_at, b.stream_id)
                   < (j.serial_order, j.run_at, j.stream_id)
             ORDER BY b.serial_order, b.run_at, b.stream_id
            OFFSET greatest(j.concurrency_limit - 1
                            - (SELECT count(*)
                                 FROM counterfoil.running_keys r
                                WHERE r.tenant_id = j.tenant_id
                                  AND r.key = j.serial_key
                                  AND r.slot <= j.concurrency_limit), 0)
             LIMIT 1))
       END AS waits_behind,
       EXISTS (SELECT
                 FROM counterfoil.workers w
                WHERE w.stopped_at IS NULL
                  AND w.beat_at > counterfoil.now() - interval '60 seconds'
                  AND j.kind = ANY(w.kinds)) AS known,
       CASE WHEN j.kind = 'fulfillment'
            THEN j.args->>'operation_id' END AS operation_id,
       CASE WHEN j.kind IN ('goods_delivery', 'goods_reconcile')
            THEN j.args->>'delivery_id' END AS delivery_id,
       j.correlation_id, NULL::timestamptz AS died_at,
       CASE WHEN j.state = 'waiting' THEN (
            SELECT q.paused_until
              FROM counterfoil.queues q
             WHERE q.name = j.queue
               AND q.paused_until > counterfoil.now())
       END AS queue_paused_until
  FROM counterfoil.jobs j
"""

DEAD: Final = """
SELECT d.stream_id AS job_id, d.tenant_id, d.kind, d.queue, d.priority, d.state,
       NULL::text AS cause, d.attempt, d.max_attempts, d.parkings,
       -- Cancelled at a gate, it was due at the end of time.
       nullif(d.run_at, '9999-12-31 00:00:00+00') AS run_at,
       NULL::text AS gate, NULL::timestamptz AS gate_closed_since, d.deadline,
       d.code, d.error_code, NULL::text AS owner_host,
       NULL::integer AS owner_pid, NULL::timestamptz AS claimed_at,
       NULL::timestamptz AS lease_until, false AS cancel_requested,
       NULL::uuid AS waits_behind, true AS known,
       CASE WHEN d.kind = 'fulfillment'
            THEN d.args->>'operation_id' END AS operation_id,
       CASE WHEN d.kind IN ('goods_delivery', 'goods_reconcile')
            THEN d.args->>'delivery_id' END AS delivery_id,
       d.correlation_id, d.died_at, NULL::timestamptz AS queue_paused_until
  FROM counterfoil.jobs_dead d
"""


class JobLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One job as its head tells; never its arguments."""

    job_id: UUID
    tenant_id: str
    kind: str
    queue: str
    priority: int
    state: str
    """`waiting`, `running`, `discarded` or `cancelled`."""
    cause: str | None
    """Why it waits: `due`, `not_due`, `after_failure` or `parked`."""
    attempt: int
    max_attempts: int | None
    """None: what its kind allows."""
    parkings: int
    run_at: Instant | None
    """None: when its gate opens, and nobody knows when that is."""
    gate: str | None
    """The gate that it waits at."""
    gate_closed_since: Instant | None
    """None when the gate is open again, so that it is about to be due."""
    deadline: Instant | None
    code: str | None
    """Why it is dead."""
    error_code: str | None
    """What its last attempt met."""
    owner_host: str | None
    owner_pid: int | None
    claimed_at: Instant | None
    lease_until: Instant | None
    cancel_requested: bool
    waits_behind: UUID | None
    """The job that goes first, because both have the same serial key."""
    known: bool
    operation_id: str | None
    """The operation that it carries to the panel."""
    delivery_id: str | None
    """The goods that it buys, or asks the provider about."""
    correlation_id: str
    died_at: Instant | None
    queue_paused_until: Instant | None = None
    """Until when nothing of its queue is claimed, unless somebody resumes it."""


def read_lines(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    parameters: dict[str, object],
) -> list[JobLine]:
    """Return the rows of a statement over `LIVE` and `DEAD`."""
    with connection.cursor(row_factory=class_row(JobLine)) as cursor:
        return cursor.execute(statement, parameters).fetchall()
