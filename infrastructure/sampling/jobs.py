"""Jobs by queue and state, and what people have set of queues."""

from collections.abc import Iterator
from typing import Final

from application.policies import FULFILLMENT
from domain.queues.queue import STANDARD
from infrastructure.sampling.gauge import Found, Look, Sampled, fetched
from projections.connections import Lend

MOST: Final = 20_000
"""Waiting jobs that are counted, shared by all queues and priorities; and as many more
of those that wait in the lines of tenants, shared by these."""

STATES: Final = ("ready", "scheduled", "running", "retryable", "held")

JOBS: Final = Sampled(
    "jobs",
    f"Unfinished jobs; of those that wait {2 * MOST} are counted at most.",
    ("queue", "state"),
)
OLDEST_READY: Final = Sampled(
    "queue_oldest_ready_age_seconds",
    "Of the job that is ready longest; 0: none is.",
    ("queue",),
    merge=max,
)
HOLDS: Final = Sampled(
    "operation_holds",
    "Operations that are held back for now, though nothing is wrong with them.",
    ("cause",),
)

# From queue to queue, and from line to line, in their indexes (see the list of queues),
# and by each place and priority from the first due on: so what is ready is seen however
# much waits for later, and the oldest is the oldest.  What waits at a gate has an index
# of its own.
_JOBS: Final = """
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
), open_places AS MATERIALIZED (
    SELECT o.queue, p.priority
      FROM opens o
     CROSS JOIN generate_series(1, 4) AS p(priority)
     CROSS JOIN LATERAL (
           SELECT FROM counterfoil.jobs j
            WHERE j.state = 'waiting' AND NOT j.is_suspect AND NOT j.in_line
              AND j.queue = o.queue
              AND j.priority = p.priority
            LIMIT 1) any_job
), line_places AS MATERIALIZED (
    SELECT l.queue, l.tenant_id, p.priority
      FROM lines l
     CROSS JOIN generate_series(1, 4) AS p(priority)
     CROSS JOIN LATERAL (
           SELECT FROM counterfoil.jobs j
            WHERE j.state = 'waiting' AND NOT j.is_suspect AND j.in_line
              AND j.queue = l.queue
              AND j.tenant_id = l.tenant_id
              AND j.priority = p.priority
            LIMIT 1) any_job
), present AS MATERIALIZED (
    SELECT counterfoil.now() AS now,
           1 + %(most)s / (1 + (SELECT count(*) FROM open_places)) AS of_open,
           1 + %(most)s / (1 + (SELECT count(*) FROM line_places)) AS of_line
), waiting AS (
    SELECT j.queue, j.run_at, j.cause
      FROM open_places o
     CROSS JOIN LATERAL (
           SELECT j.queue, j.run_at, j.cause FROM counterfoil.jobs j
            WHERE j.state = 'waiting' AND NOT j.is_suspect AND NOT j.in_line
              AND j.queue = o.queue
              AND j.priority = o.priority
              AND j.run_at < '9999-12-31 00:00:00+00'
            ORDER BY j.run_at
            LIMIT (SELECT of_open FROM present)) j
     UNION ALL
    SELECT j.queue, j.run_at, j.cause
      FROM line_places l
     CROSS JOIN LATERAL (
           SELECT j.queue, j.run_at, j.cause FROM counterfoil.jobs j
            WHERE j.state = 'waiting' AND NOT j.is_suspect AND j.in_line
              AND j.queue = l.queue
              AND j.tenant_id = l.tenant_id
              AND j.priority = l.priority
              AND j.run_at < '9999-12-31 00:00:00+00'
            ORDER BY j.run_at
            LIMIT (SELECT of_line FROM present)) j
     UNION ALL
    (SELECT j.queue, j.run_at, j.cause
       FROM counterfoil.jobs j
      WHERE j.state = 'waiting' AND j.is_suspect AND j.gate IS NULL
      LIMIT %(most)s)
)
SELECT w.queue,
       CASE WHEN w.run_at <= p.now THEN 'ready'
            WHEN w.cause = 'after_failure' THEN 'retryable'
            WHEN w.cause = 'parked' THEN 'held'
            ELSE 'scheduled' END,
       count(*),
       extract(epoch FROM max(p.now - w.run_at)
                          FILTER (WHERE w.run_at <= p.now))::float8,
       NULL::bigint
  FROM waiting w
 CROSS JOIN present p
 GROUP BY 1, 2
 UNION ALL
SELECT r.queue, 'running', count(*), NULL, NULL
  FROM (SELECT queue FROM counterfoil.jobs WHERE state = 'running' LIMIT %(most)s) r
 GROUP BY 1
 UNION ALL
SELECT g.queue, 'held', count(*), NULL, count(*) FILTER (WHERE g.kind = %(operation)s)
  FROM (SELECT queue, kind FROM counterfoil.jobs
         WHERE gate IS NOT NULL LIMIT %(most)s) g
 GROUP BY 1
"""


def jobs(lend: Lend) -> Iterator[Found]:
    """Yield how many jobs there are, and how long they have been ready."""
    counts = {(queue, state): 0.0 for queue in STANDARD for state in STATES}
    oldest = dict.fromkeys(STANDARD, 0.0)
    n_held = 0
    for queue, state, n, age, held in fetched(
        lend, _JOBS, most=MOST, operation=FULFILLMENT
    ):
        counts[queue, state] = counts.get((queue, state), 0.0) + n
        oldest[queue] = max(oldest.get(queue, 0.0), age or 0.0)
        n_held += held or 0
    yield from ((JOBS, labels, n) for labels, n in counts.items())
    yield from ((OLDEST_READY, (queue,), age) for queue, age in oldest.items())
    yield HOLDS, ("maintenance",), n_held


PAUSED: Final = Sampled(
    "queue_paused", "1: nothing of it is claimed.", ("queue",), merge=max
)
PAUSE_EXPIRES: Final = Sampled(
    "queue_pause_expires_timestamp_seconds",
    "When the pause ends by itself; none: it is not paused.",
    ("queue",),
    merge=max,
)
LIMIT: Final = Sampled(
    "queue_concurrency_limit",
    "How many of its jobs may run at once; none: as many as there are slots.",
    ("queue",),
    merge=max,
)

# As many as anybody has ever set something of: people do, by hand.
_QUEUES: Final = """
SELECT name, coalesce(paused_until > counterfoil.now(), false), concurrency,
       extract(epoch FROM paused_until)::float8
  FROM counterfoil.queues
 ORDER BY name
 LIMIT 1000
"""


def queues(lend: Lend) -> Iterator[Found]:
    """Yield what people have set of queues."""
    paused = dict.fromkeys(STANDARD, 0)
    for queue, is_paused, limit, until in fetched(lend, _QUEUES):
        paused[queue] = is_paused
        if is_paused:
            yield PAUSE_EXPIRES, (queue,), until
        if limit is not None:
            yield LIMIT, (queue,), limit
    for queue, is_paused in paused.items():
        yield PAUSED, (queue,), is_paused


LOOKS: Final = (
    Look(jobs, (JOBS, OLDEST_READY, HOLDS)),
    Look(queues, (PAUSED, PAUSE_EXPIRES, LIMIT)),
)
