-- What people say about queues and workers: pauses, limits, drains.

-- A queue that nobody has said anything about has no row, and claims pay nothing for it.
CREATE TABLE counterfoil.queues (
    name          text        NOT NULL,
    version       integer     NOT NULL,
    concurrency   integer,
    paused_at     timestamptz,
    paused_until  timestamptz,
    paused_by     text,
    paused_reason text,
    changed_at    timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT queues_pkey PRIMARY KEY (name),
    CONSTRAINT queues_name_length CHECK (length(name) BETWEEN 1 AND 127),
    CONSTRAINT queues_version_positive CHECK (version > 0),
    CONSTRAINT queues_concurrency CHECK (concurrency BETWEEN 1 AND 10000),
    -- A pause ends by itself, at the latest a day after it was said.
    CONSTRAINT queues_pause_told CHECK (
        (paused_at IS NULL) = (paused_until IS NULL)
        AND (paused_at IS NULL) = (paused_by IS NULL)
        AND (paused_at IS NULL) = (paused_reason IS NULL)
        AND paused_until <= paused_at + interval '24 hours')
);

-- Since when a process is asked to claim nothing more, and what else it does.
ALTER TABLE counterfoil.workers
    ADD COLUMN roles text[] NOT NULL DEFAULT '{jobs}',
    ADD COLUMN draining_since timestamptz;

-- How many jobs of a queue run, by whomever: a volatile look, so it sees what was
-- committed until now and not until its caller's statement began.
CREATE FUNCTION counterfoil.running_in(queue_name text) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off
AS $$
BEGIN
    RETURN (SELECT count(*)
              FROM counterfoil.jobs j
             WHERE j.state = 'running'
               AND j.queue = queue_name);
END
$$;

-- How many jobs of a queue this transaction may claim, of as many as it wants.
--
-- Whoever pauses or limits a queue holds its lock alone, so he waits until the claims
-- under way are over, and none is made after his answer that does not know it. Of a
-- limited queue one process claims at a time: only claims let jobs run, so what it
-- counts can only become less. Nobody waits here: who comes too late comes again.
CREATE FUNCTION counterfoil.claimable(queue_name text, wanted integer) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    told counterfoil.queues;
BEGIN
    IF NOT pg_try_advisory_xact_lock_shared(hashtextextended('counterfoil.queue:' || queue_name, 0)) THEN
        RETURN 0;
    END IF;
    SELECT * INTO told FROM counterfoil.queues q WHERE q.name = queue_name;
    IF NOT FOUND THEN
        RETURN wanted;
    ELSIF told.paused_until > counterfoil.now() THEN
        RETURN 0;
    ELSIF told.concurrency IS NULL THEN
        RETURN wanted;
    ELSIF NOT pg_try_advisory_xact_lock(hashtextextended('counterfoil.queue_limit:' || queue_name, 0)) THEN
        RETURN 0;
    END IF;
    RETURN least(wanted, greatest(told.concurrency - counterfoil.running_in(queue_name), 0));
END
$$;

-- Of each queue that is held back its room, 0 while it is paused: a hint for those who
-- look, as claims ask for themselves.
CREATE FUNCTION counterfoil.rooms() RETURNS jsonb
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN (SELECT jsonb_object_agg(q.name, jsonb_build_object(
                       'paused', coalesce(q.paused_until > counterfoil.now(), false),
                       'room', CASE WHEN q.paused_until > counterfoil.now() THEN 0
                                    ELSE greatest(q.concurrency - counterfoil.running_in(q.name), 0) END))
              FROM counterfoil.queues q
             WHERE q.paused_until > counterfoil.now()
                OR q.concurrency IS NOT NULL);
END
$$;
