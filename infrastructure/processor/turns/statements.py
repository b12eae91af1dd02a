"""The statement that claims: which jobs, in which slots of their keys, and the log.

It takes the same decision as `domain.jobs.aggregate.decide` for a whole batch; a
property test holds it to that (mechanisms 16, 21).
"""

from typing import Final

from infrastructure.processor.claimed import COLUMNS

# How far the front of a key reaches depends on the key and the limit alone, so the
# planner keeps it (Memoize): compared row by row, 5,000 due jobs of one key cost 67 ms
# a claim; so, 2 ms.  `kind = ANY` keeps the index order.
_SCAN: Final = """
        SELECT j.stream_id, j.tenant_id, j.run_at, j.serial_key, j.serial_order,
               j.concurrency_limit, j.priority
          FROM counterfoil.jobs j
          LEFT JOIN LATERAL (
               -- As many due jobs of a key as it has slots free: the last of them.
               SELECT f.free, e.serial_order, e.run_at, e.stream_id
                 FROM (SELECT j.concurrency_limit
                              - (SELECT count(*)
                                   FROM counterfoil.running_keys r
                                  WHERE r.tenant_id = j.tenant_id
                                    AND r.key = j.serial_key
                                    AND r.slot <= j.concurrency_limit) AS free) f
                 LEFT JOIN LATERAL (
                      SELECT e.serial_order, e.run_at, e.stream_id
                        FROM counterfoil.jobs e
                       WHERE e.tenant_id = j.tenant_id
                         AND e.serial_key = j.serial_key
                         AND e.state = 'waiting'
                         AND e.run_at <= (SELECT at FROM moment)
                       ORDER BY e.serial_order, e.run_at, e.stream_id
                      OFFSET greatest(f.free - 1, 0)
                       LIMIT 1) e ON f.free > 0
                WHERE j.serial_key IS NOT NULL  -- most have none: no look at all
                LIMIT 1) front ON true
         WHERE (SELECT room FROM moment) > 0  -- asked before any row is locked
           AND j.state = 'waiting'
           AND NOT j.is_suspect
           AND NOT j.in_line
           AND j.queue = %(queue)s
           AND j.priority = p.priority
           AND j.run_at >= p.low
           AND j.run_at <= (SELECT at FROM moment)
           AND j.kind = ANY(%(kinds)s::text[])
           AND j.stream_id <> ALL(%(barred)s::uuid[])
           AND (j.serial_key IS NULL
                OR front.free > 0
                   AND (front.stream_id IS NULL
                        OR (j.serial_order, j.run_at, j.stream_id)
                           <= (front.serial_order, front.run_at, front.stream_id)))
         ORDER BY j.run_at
         LIMIT %(n)s
           FOR UPDATE OF j SKIP LOCKED"""
_SCAN_LINE: Final = _SCAN.replace(
    "AND NOT j.in_line", "AND j.in_line AND j.tenant_id = p.tenant_id"
).replace("LIMIT %(n)s", "LIMIT %(per_line)s")

# The scan is a LATERAL per priority: sorted by priority first, one scan made an idle
# claim take 98 ms beside a million future rows.
_CANDIDATES: Final = """
WITH moment AS MATERIALIZED (
    -- Asked once: a condition of the index, and one instant for every comparison.
    SELECT counterfoil.now() AS at,
           counterfoil.claimable(%(queue)s, %(n)s) AS room
), candidates AS (
    SELECT c.*, c.run_at - p.head_start AS turn
      FROM unnest(%(lows)s::timestamptz[], %(head_starts)s::interval[])
           WITH ORDINALITY AS p(low, head_start, priority)
     CROSS JOIN LATERAL (:scan) c
""".replace(":scan", _SCAN)

_PICK: Final = """:candidates), picked AS (
    SELECT * FROM candidates ORDER BY turn LIMIT (SELECT room FROM moment)
)
""".replace(":candidates", _CANDIDATES)

# Every tenant with a line is a place of its own, all others are the open.  Places are
# served by rounds: one of the open, one of a line, one of the open, one of the next.
_PICK_IN_TURN: Final = """:candidates
     UNION ALL
    SELECT c.*, c.run_at - (%(head_starts)s::interval[])[p.priority] AS turn
      FROM unnest(%(line_tenants)s::text[], %(line_priorities)s::int[],
                  %(line_lows)s::timestamptz[]) AS p(tenant_id, priority, low)
     CROSS JOIN LATERAL (:scan) c
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY place ORDER BY turn, run_at) AS lap
      FROM (SELECT *, coalesce(array_position(%(places)s::text[], tenant_id), 0)
                      AS place
              FROM candidates) c
), picked AS (
    SELECT *
      FROM placed
     ORDER BY CASE WHEN place = 0 THEN 2 * lap - %(open_first)s::int
                   ELSE 2 * ((lap - 1) * cardinality(%(places)s::text[]) + place)
                        - 1 + %(open_first)s::int END
     LIMIT (SELECT room FROM moment)
)
""".replace(":candidates", _CANDIDATES).replace(":scan", _SCAN_LINE)

# JSON is made from rows: their types are looked up once a statement, those of
# jsonb_build_object's arguments once a row.
_TAKE: Final = """
, keys AS (
    INSERT INTO counterfoil.running_keys (tenant_id, key, slot, job_id, token)
    SELECT p.tenant_id, p.serial_key, s.slot, p.stream_id, j.version + 1
      FROM (SELECT *, row_number() OVER (
                          PARTITION BY tenant_id, serial_key
                          ORDER BY serial_order, run_at, stream_id) AS nth
              FROM picked
             WHERE serial_key IS NOT NULL) p
      JOIN counterfoil.jobs j ON j.stream_id = p.stream_id
     CROSS JOIN LATERAL (
        -- The first free slot for the first job of a key, the second for the second.
        SELECT g.slot
          FROM generate_series(1, p.concurrency_limit) AS g(slot)
         WHERE NOT EXISTS (SELECT
                             FROM counterfoil.running_keys r
                            WHERE r.tenant_id = p.tenant_id
                              AND r.key = p.serial_key
                              AND r.slot = g.slot)
         ORDER BY g.slot
        OFFSET p.nth - 1
         LIMIT 1) s
     ORDER BY p.tenant_id, p.serial_key, s.slot
    ON CONFLICT DO NOTHING
    RETURNING job_id
), won AS (
    SELECT stream_id
      FROM picked
     WHERE serial_key IS NULL OR stream_id IN (SELECT job_id FROM keys)
), claimed AS (
    UPDATE counterfoil.jobs j
       SET state = 'running',
           version = j.version + 1,
           token = j.version + 1,
           attempt = least(j.attempt, %(most)s - 1) + 1,
           cause = NULL,
           owner_host = %(host)s,
           owner_pid = %(pid)s,
           owner_boot = %(boot)s,
           claim_id = %(claim_id)s,
           progress = NULL,
           beat_at = counterfoil.now(),
           lease_until = counterfoil.now()
               + make_interval(secs => (%(leases)s::jsonb->>j.kind)::int)
     -- An array, not a join: a join may be planned as a scan of the whole table.
     WHERE j.stream_id = ANY (ARRAY(SELECT stream_id FROM won))
    RETURNING j.stream_id, j.tenant_id, j.kind, j.token, j.attempt, j.max_attempts,
              j.args::text AS args, j.run_at, j.deadline, j.correlation_id, j.priority,
              j.queue, j.unique_key
), logged AS (
    INSERT INTO counterfoil.events
           (tenant_id, stream_id, version, type, schema, data, meta)
    SELECT tenant_id, stream_id, token, 'job.claimed', 1,
           (SELECT to_jsonb(data)
              FROM (SELECT attempt, token, %(owner)s::jsonb AS owner,
                           (%(leases)s::jsonb->>kind)::int AS lease_seconds) data),
           jsonb_set(%(meta)s::jsonb, '{correlation_id}', to_jsonb(correlation_id))
      FROM claimed
     ORDER BY run_at
)
"""

_TELL: Final = """, timestamptz_send(counterfoil.now())
  FROM claimed
 ORDER BY run_at
"""

_NAME: Final = "SELECT stream_id FROM picked"
CLAIM: Final = _PICK + _TAKE + COLUMNS + _TELL
FRONT: Final = _PICK + _NAME
CLAIM_IN_TURN: Final = _PICK_IN_TURN + _TAKE + COLUMNS + _TELL
FRONT_IN_TURN: Final = _PICK_IN_TURN + _NAME

# The same in every other respect: keys, priorities, turns.
_PICK_SUSPECT: Final = _PICK.replace(
    "AND NOT j.is_suspect", "AND j.is_suspect"
).replace("AND NOT j.in_line", "", 1)
CLAIM_SUSPECT: Final = _PICK_SUSPECT + _TAKE + COLUMNS + _TELL
FRONT_SUSPECT: Final = _PICK_SUSPECT + _NAME
