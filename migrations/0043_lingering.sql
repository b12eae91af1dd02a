-- Jobs whose handler still runs in a process although its run is over: a thread cannot be
-- ended. Said with the ending of the run, and taken back by a heartbeat.
ALTER TABLE counterfoil.workers
    ADD COLUMN lingering uuid[] NOT NULL DEFAULT '{}';

-- Whether an earlier handler of one of these jobs may still run somewhere. A process that
-- was not heard of for a lease is gone; one that has stopped in order is about to be.
CREATE FUNCTION counterfoil.is_lingering(jobs uuid[]) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$
    SELECT EXISTS (
        SELECT
          FROM counterfoil.workers w
         WHERE w.lingering && jobs
           AND w.beat_at > counterfoil.now() - interval '60 seconds'
           AND (w.stopped_at IS NULL
                OR w.stopped_at > counterfoil.now() - interval '10 seconds'));
$$;
