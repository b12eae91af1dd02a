-- Heads: one row per live stream, written in the transaction of its events.
-- Three parts each: folded columns (equal a fold of the stream), volatile columns
-- (no event, no index, not compared) and birth columns (never in a SET list).

CREATE TABLE counterfoil.orders (
    stream_id      uuid    NOT NULL,
    tenant_id      text    NOT NULL,
    version        integer NOT NULL,
    state          text    NOT NULL,
    order_id       text    NOT NULL,
    customer_id    text    NOT NULL,
    slot           integer NOT NULL,
    kind           text    NOT NULL,
    currency       text    NOT NULL,
    amount_minor   bigint  NOT NULL,
    discount_minor bigint  NOT NULL,
    fulfilled_by   uuid,
    correlation_id text    NOT NULL,
    CONSTRAINT orders_pkey PRIMARY KEY (stream_id),
    CONSTRAINT orders_state_known CHECK (state IN ('paid', 'fulfilled')),
    CONSTRAINT orders_slot_positive CHECK (slot > 0),
    CONSTRAINT orders_amounts CHECK (amount_minor >= 0 AND discount_minor >= 0),
    CONSTRAINT orders_fulfilled_by CHECK (state = 'fulfilled' OR fulfilled_by IS NULL)
);
-- `counterfoil why <orderId>` finds an order by the shop's own id.
CREATE UNIQUE INDEX orders_order_id ON counterfoil.orders (tenant_id, order_id);

CREATE TABLE counterfoil.entitlements (
    stream_id       uuid    NOT NULL,
    tenant_id       text    NOT NULL,
    version         integer NOT NULL,
    state           text    NOT NULL,
    customer_id     text    NOT NULL,
    slot            integer NOT NULL,
    username        text    NOT NULL,
    legacy_username text,
    desired         jsonb   NOT NULL,
    desired_version integer NOT NULL,
    paid_at         timestamptz NOT NULL,
    observed        jsonb,
    CONSTRAINT entitlements_pkey PRIMARY KEY (stream_id),
    CONSTRAINT entitlements_state_known CHECK (state IN ('live')),
    CONSTRAINT entitlements_slot_positive CHECK (slot > 0),
    CONSTRAINT entitlements_desired_version CHECK (desired_version > 0)
);
-- One entitlement per customer and slot; the fan-out looks it up here.
CREATE UNIQUE INDEX entitlements_customer ON counterfoil.entitlements (tenant_id, customer_id, slot);
-- One panel, one user of a name, over all tenants.
CREATE UNIQUE INDEX entitlements_username ON counterfoil.entitlements (username);

CREATE TABLE counterfoil.operations (
    stream_id       uuid    NOT NULL,
    tenant_id       text    NOT NULL,
    version         integer NOT NULL,
    state           text    NOT NULL,
    entitlement_id  uuid    NOT NULL,
    order_stream_id uuid,
    operation       text    NOT NULL,
    desired_version integer NOT NULL,
    desired         jsonb   NOT NULL,
    effective_at    timestamptz NOT NULL,
    idempotency_key text    NOT NULL,
    attempts        integer NOT NULL,
    code            text,
    parked_cause    text,
    next_attempt_at timestamptz,
    covered_by      uuid,
    correlation_id  text    NOT NULL,
    CONSTRAINT operations_pkey PRIMARY KEY (stream_id),
    CONSTRAINT operations_state_known CHECK (
        state IN ('pending', 'running', 'retrying', 'failed', 'succeeded', 'cancelled')),
    CONSTRAINT operations_operation_known CHECK (operation IN ('create')),
    CONSTRAINT operations_covered_by CHECK (covered_by IS NULL OR state = 'cancelled'),
    CONSTRAINT operations_failed_says_why CHECK (state NOT IN ('failed', 'cancelled') OR code IS NOT NULL)
) WITH (fillfactor = 70);
-- An operation is asked for once per key, for ever (I5).
CREATE UNIQUE INDEX operations_idempotency_key ON counterfoil.operations (tenant_id, idempotency_key);
-- Covering and carried resets look at the versions of one entitlement; two
-- operations never carry the same version.
CREATE UNIQUE INDEX operations_entitlement ON counterfoil.operations (entitlement_id, desired_version);

-- Final is final (I6): the database refuses what the rules refuse.
CREATE FUNCTION counterfoil.refuse_leaving_final() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    RAISE EXCEPTION 'state_conflict: % is final', OLD.state
        USING ERRCODE = 'CF409', HINT = 'state_conflict';
END
$$;
CREATE TRIGGER operations_final BEFORE UPDATE ON counterfoil.operations
    FOR EACH ROW WHEN (OLD.state IN ('succeeded', 'cancelled'))
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();
CREATE TRIGGER orders_final BEFORE UPDATE ON counterfoil.orders
    FOR EACH ROW WHEN (OLD.state = 'fulfilled')
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();

-- What was removed could be born again, without its past: these heads stay.
CREATE TRIGGER orders_kept BEFORE DELETE OR TRUNCATE ON counterfoil.orders
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();
CREATE TRIGGER entitlements_kept BEFORE DELETE OR TRUNCATE ON counterfoil.entitlements
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();
CREATE TRIGGER operations_kept BEFORE DELETE OR TRUNCATE ON counterfoil.operations
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();
CREATE TRIGGER external_keys_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON counterfoil.external_keys
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();

CREATE TABLE counterfoil.jobs (
    stream_id        uuid        NOT NULL,
    tenant_id        text        NOT NULL,
    version          integer     NOT NULL,
    state            text        NOT NULL,
    kind             text        NOT NULL,
    queue            text        NOT NULL,
    priority         smallint    NOT NULL,
    run_at           timestamptz NOT NULL,
    cause            text,
    attempt          integer     NOT NULL,
    parkings         integer     NOT NULL,
    max_attempts     integer,
    unique_key       text,
    serial_key       text,
    serial_order     integer     NOT NULL,
    deadline         timestamptz,
    token            integer,
    owner_host       text,
    owner_pid        integer,
    owner_boot       uuid,
    cancel_requested boolean     NOT NULL,
    error_code       text,
    -- birth columns
    correlation_id   text        NOT NULL,
    args             jsonb       NOT NULL,
    -- volatile columns
    claim_id         uuid,
    lease_until      timestamptz,
    beat_at          timestamptz,
    progress         jsonb,
    CONSTRAINT jobs_pkey PRIMARY KEY (stream_id),
    CONSTRAINT jobs_state_known CHECK (state IN ('waiting', 'running')),
    CONSTRAINT jobs_priority_range CHECK (priority BETWEEN 1 AND 4),
    CONSTRAINT jobs_kind_length CHECK (length(kind) BETWEEN 1 AND 127),
    CONSTRAINT jobs_queue_length CHECK (length(queue) BETWEEN 1 AND 127),
    CONSTRAINT jobs_counters CHECK (attempt >= 0 AND parkings >= 0 AND max_attempts > 0),
    CONSTRAINT jobs_cause_known CHECK (cause IN ('after_failure', 'parked')),
    -- No row that Python cannot read may stop a claim; none below 2000 would be seen.
    CONSTRAINT jobs_instants_readable CHECK (
        run_at >= '2000-01-01 00:00:00+00' AND run_at < '10000-01-01 00:00:00+00'
        AND deadline >= '2000-01-01 00:00:00+00' AND deadline < '10000-01-01 00:00:00+00'),
    CONSTRAINT jobs_running_is_held CHECK (
        (state = 'running') = (token IS NOT NULL)
        AND (state = 'running') = (owner_boot IS NOT NULL)
        AND (state = 'running' OR NOT cancel_requested))
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);
-- The claim: one bounded scan per priority.
CREATE INDEX jobs_claim ON counterfoil.jobs (queue, priority, run_at) WHERE state = 'waiting';
-- Order within a serial key: a later job is never claimed while an earlier due one waits.
CREATE INDEX jobs_serial ON counterfoil.jobs (tenant_id, serial_key, serial_order, run_at)
    WHERE state = 'waiting' AND serial_key IS NOT NULL;
-- Rescue and `counterfoil jobs --state running`; names no volatile column, so heartbeats stay HOT.
CREATE INDEX jobs_running ON counterfoil.jobs (stream_id) WHERE state = 'running';
-- One unfinished job per key: exactly waiting, running, retrying and parked.
CREATE UNIQUE INDEX jobs_unique_key ON counterfoil.jobs (tenant_id, unique_key);

-- Dead jobs await a person; retry is the only way back into `jobs`.
CREATE TABLE counterfoil.jobs_dead (
    stream_id      uuid        NOT NULL,
    tenant_id      text        NOT NULL,
    version        integer     NOT NULL,
    state          text        NOT NULL,
    kind           text        NOT NULL,
    queue          text        NOT NULL,
    priority       smallint    NOT NULL,
    run_at         timestamptz NOT NULL,
    attempt        integer     NOT NULL,
    parkings       integer     NOT NULL,
    max_attempts   integer,
    unique_key     text,
    serial_key     text,
    serial_order   integer     NOT NULL,
    deadline       timestamptz,
    code           text        NOT NULL,
    error_code     text,
    correlation_id text        NOT NULL,
    args           jsonb       NOT NULL,
    died_at        timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT jobs_dead_pkey PRIMARY KEY (stream_id),
    CONSTRAINT jobs_dead_state_known CHECK (state IN ('discarded', 'cancelled'))
);
-- `counterfoil jobs --state discarded`, newest first; retry by the key of a record.
CREATE INDEX jobs_dead_died_at ON counterfoil.jobs_dead (died_at);
CREATE INDEX jobs_dead_unique_key ON counterfoil.jobs_dead (tenant_id, unique_key);

-- A head with a past may enter `jobs` only out of `jobs_dead`, in one transaction:
-- the delete leaves a mark that the insert must find (I6: a succeeded job is in
-- neither table, so no statement can revive it).
CREATE FUNCTION counterfoil.mark_retry() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    PERFORM set_config('counterfoil.retried',
                       pg_current_xact_id()::text || ':' || OLD.stream_id::text || ':' || OLD.version::text, true);
    RETURN OLD;
END
$$;
CREATE TRIGGER jobs_dead_mark_retry BEFORE DELETE ON counterfoil.jobs_dead
    FOR EACH ROW EXECUTE FUNCTION counterfoil.mark_retry();
CREATE FUNCTION counterfoil.require_retry() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF coalesce(current_setting('counterfoil.retried', true), '')
       <> pg_current_xact_id()::text || ':' || NEW.stream_id::text || ':' || (NEW.version - 1)::text
       -- A row of jobs_dead is soon made up; the log admits a retry of what is dead alone.
       OR NOT EXISTS (SELECT FROM counterfoil.events e
                       WHERE e.stream_id = NEW.stream_id
                         AND e.version = NEW.version
                         AND e.type = 'job.retried') THEN
        RAISE EXCEPTION 'state_conflict: a job with a past comes back only by a retry'
            USING ERRCODE = 'CF409', HINT = 'state_conflict';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER jobs_require_retry BEFORE INSERT ON counterfoil.jobs
    FOR EACH ROW WHEN (NEW.version > 1) EXECUTE FUNCTION counterfoil.require_retry();

-- Serial keys that are held by a running job; every way out of running frees them.
CREATE TABLE counterfoil.running_keys (
    tenant_id text    NOT NULL,
    key       text    NOT NULL,
    job_id    uuid    NOT NULL,
    token     integer NOT NULL,
    CONSTRAINT running_keys_pkey PRIMARY KEY (tenant_id, key)
);
-- Freed by the job that holds them.
CREATE INDEX running_keys_job ON counterfoil.running_keys (job_id);

-- Processes that claim; a boot id that stopped beating is a process that is gone.
CREATE TABLE counterfoil.workers (
    boot_id    uuid        NOT NULL,
    host       text        NOT NULL,
    pid        integer     NOT NULL,
    kinds      text[]      NOT NULL,
    started_at timestamptz NOT NULL DEFAULT counterfoil.now(),
    beat_at    timestamptz NOT NULL DEFAULT counterfoil.now(),
    stopped_at timestamptz,
    CONSTRAINT workers_pkey PRIMARY KEY (boot_id)
) WITH (fillfactor = 70);
