-- Jobs at closed gates: parked once, and found again when the gate is open.

ALTER TABLE counterfoil.jobs
    ADD COLUMN gate text,
    -- Due at the end of time, so no claim meets it and nobody has to leave it out.
    ADD CONSTRAINT jobs_gate CHECK (
        gate IS NULL
        OR (state = 'waiting' AND coalesce(cause = 'parked', false)
            AND run_at = '9999-12-31 00:00:00+00'));

-- Un-parking asks, gate by gate, what waits there.
CREATE INDEX jobs_gate ON counterfoil.jobs (gate, stream_id) WHERE gate IS NOT NULL;
