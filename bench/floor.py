"""The floor: the rows of a drain and of an enqueue, written by SQL alone.

Which floor is fair?  One that writes exactly the rows of a worker (heads, events,
outbox; same columns, same triggers and indexes), in as many transactions, each of
them committed to the disk.  It may leave out what a decision needs: queues and
kinds, serial keys, leases of each kind, the guard of each token, the way of
arguments and ids to a client and back.  So it runs as a procedure inside the server:
nothing crosses a socket.  A worker keeps one connection claiming while another one
settles, hence the floor runs on one connection and on two, and the faster of them
is what ratios are taken against.
"""

from typing import Final

CREATE_FLOOR: Final = """
CREATE SCHEMA bench;
CREATE PROCEDURE bench.drain(batch integer)
LANGUAGE plpgsql
AS $$
DECLARE
    actor CONSTANT jsonb := jsonb_build_object('type', 'worker', 'id', 'floor:1');
    owner CONSTANT jsonb := jsonb_build_object(
        'host', 'floor', 'pid', 1, 'boot', '00000000-0000-4000-8000-000000000000');
    low   timestamptz := '2000-01-01T00:00:00Z';
    one   uuid;
    ids   uuid[];
BEGIN
    LOOP
        one := counterfoil.uuid7();
        WITH picked AS (
            SELECT j.stream_id
              FROM counterfoil.jobs j
             WHERE j.state = 'waiting'
               AND NOT j.is_suspect
               AND j.queue = 'default'
               AND j.priority = 1
               AND j.run_at >= low
               AND j.run_at <= counterfoil.now()
             ORDER BY j.run_at
             LIMIT batch
               FOR UPDATE SKIP LOCKED
        ), claimed AS (
            UPDATE counterfoil.jobs j
               SET state = 'running',
                   version = j.version + 1,
                   token = j.version + 1,
                   attempt = j.attempt + 1,
                   owner_host = 'floor',
                   owner_pid = 1,
                   owner_boot = '00000000-0000-4000-8000-000000000000',
                   claim_id = one,
                   beat_at = counterfoil.now(),
                   lease_until = counterfoil.now() + interval '60 seconds'
              FROM picked
             WHERE j.stream_id = picked.stream_id
            RETURNING j.stream_id, j.tenant_id, j.token, j.attempt, j.correlation_id,
                      j.run_at
        ), logged AS (
            INSERT INTO counterfoil.events
                   (tenant_id, stream_id, version, type, schema, data, meta)
            SELECT tenant_id, stream_id, token, 'job.claimed', 1,
                   jsonb_build_object('attempt', attempt, 'token', token,
                       'owner', owner, 'lease_seconds', 60),
                   jsonb_build_object('actor', actor,
                       'correlation_id', correlation_id, 'commit_id', one)
              FROM claimed
             ORDER BY run_at
        )
        SELECT array_agg(stream_id), max(run_at) INTO ids, low FROM claimed;
        EXIT WHEN ids IS NULL;
        COMMIT;
        one := counterfoil.uuid7();
        WITH gone AS (
            DELETE FROM counterfoil.jobs
             WHERE stream_id = ANY(ids)
            RETURNING stream_id, tenant_id, kind, version, attempt, token,
                      correlation_id
        ), logged AS (
            INSERT INTO counterfoil.events
                   (tenant_id, stream_id, version, type, schema, data, meta)
            SELECT tenant_id, stream_id, version + 1, 'job.succeeded', 1,
                   jsonb_build_object('attempt', attempt, 'token', token,
                       'result', NULL),
                   jsonb_build_object('actor', actor,
                       'correlation_id', correlation_id,
                       'causation',
                       jsonb_build_object('job', stream_id, 'token', token),
                       'commit_id', one)
              FROM gone
            RETURNING position, stream_id
        )
        INSERT INTO counterfoil.outbox
               (id, position, tenant_id, topic, stream_id, version, data)
        SELECT counterfoil.uuid7(), l.position, g.tenant_id, 'job.succeeded',
               g.stream_id, g.version + 1,
               jsonb_build_object('job_id', g.stream_id, 'kind', g.kind,
                   'attempt', g.attempt, 'code', NULL)
          FROM gone g
          JOIN logged l ON l.stream_id = g.stream_id;
        COMMIT;
    END LOOP;
END
$$;
"""

DRAIN: Final = "CALL bench.drain(%(batch)s)"

ENQUEUE: Final = """
WITH made AS (
    INSERT INTO counterfoil.jobs
           (stream_id, tenant_id, version, state, kind, queue, priority, run_at,
            attempt, parkings, serial_order, cancel_requested, correlation_id, args,
            in_line)
    SELECT id, 'default', 1, 'waiting', 'noop', 'default', 1, counterfoil.now(),
           0, 0, 0, false, 'job:' || id::text, args, false
      FROM unnest(%(ids)b::uuid[], %(args)s::jsonb[]) AS t(id, args)
    RETURNING stream_id, tenant_id, kind, queue, priority, args, serial_order, run_at,
              correlation_id
)
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
SELECT tenant_id, stream_id, 1, 'job.enqueued', 1,
       jsonb_build_object('kind', kind, 'queue', queue, 'priority', priority,
           'args', args, 'unique_key', NULL, 'serial_key', NULL,
           'serial_order', serial_order, 'run_at', counterfoil.instant_text(run_at),
           'max_attempts', NULL, 'deadline', NULL),
       jsonb_build_object('actor',
           jsonb_build_object('type', 'shop', 'id', session_user),
           'correlation_id', correlation_id, 'commit_id', %(commit_id)s::text),
       run_at
  FROM made
"""
"""Writes what `counterfoil.enqueue` writes for each of `ids`, in one statement."""

LIVES: Final = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
SELECT 'default', id, version, type, 1,
       jsonb_build_object('attempt', 1, 'token', 2, 'lease_seconds', 60, 'owner',
           jsonb_build_object('host', 'bench', 'pid', 1, 'boot', id)),
       jsonb_build_object('actor',
           jsonb_build_object('type', 'worker', 'id', 'bench:1'),
           'correlation_id', 'job:' || id, 'commit_id', id)
  FROM (SELECT counterfoil.uuid7() AS id
          FROM generate_series(1, %(lives)s::int)) made
 CROSS JOIN (VALUES (1, 'job.enqueued'), (2, 'job.claimed'), (3, 'job.succeeded'))
       AS t(version, type)
"""
"""Fills the log with lives of jobs, three events each, in the order of the ids, as a
log grows; every trigger of the table runs."""
