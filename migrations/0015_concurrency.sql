-- Concurrency: as many jobs of one serial key run at once as its jobs allow.

-- A job of limit n runs in one of the slots 1 … n of its key, and nobody else is in it:
-- what the primary key refuses cannot run (mechanisms 21).
ALTER TABLE counterfoil.jobs
    ADD COLUMN concurrency_limit integer NOT NULL DEFAULT 1,
    ADD CONSTRAINT jobs_concurrency_limit CHECK (concurrency_limit BETWEEN 1 AND 1000);
ALTER TABLE counterfoil.jobs_dead
    ADD COLUMN concurrency_limit integer NOT NULL DEFAULT 1;
ALTER TABLE counterfoil.running_keys
    ADD COLUMN slot smallint NOT NULL DEFAULT 1,
    DROP CONSTRAINT running_keys_pkey,
    ADD CONSTRAINT running_keys_pkey PRIMARY KEY (tenant_id, key, slot),
    ADD CONSTRAINT running_keys_slot CHECK (slot BETWEEN 1 AND 1000);
