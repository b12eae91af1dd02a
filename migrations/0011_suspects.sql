-- Suspects: jobs whose process died with them run alone, until that is disproved.

ALTER TABLE counterfoil.jobs
    ADD COLUMN crashes integer NOT NULL DEFAULT 0,
    ADD COLUMN is_suspect boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT jobs_crashes CHECK (crashes >= 0);
ALTER TABLE counterfoil.jobs_dead
    ADD COLUMN crashes integer NOT NULL DEFAULT 0,
    ADD COLUMN is_suspect boolean NOT NULL DEFAULT false;

-- The claim never meets a suspect, not even to pass it over.
DROP INDEX counterfoil.jobs_claim;
CREATE INDEX jobs_claim ON counterfoil.jobs (queue, priority, run_at)
    WHERE state = 'waiting' AND NOT is_suspect;
-- Suspects are claimed from here, one at a time.
CREATE INDEX jobs_suspects ON counterfoil.jobs (queue, priority, run_at)
    WHERE state = 'waiting' AND is_suspect;
