-- The read model of jobs: every job that ever was, in a row that stays.

DO $do$
DECLARE
    slot text;
    made text;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        made := 'read_jobs_' || slot;
        EXECUTE format($sql$
            CREATE TABLE counterfoil.%1$I (
                stream_id        uuid        NOT NULL,
                tenant_id        text        NOT NULL,
                created_at       timestamptz NOT NULL,
                updated_at       timestamptz NOT NULL,
                correlation_id   text        NOT NULL,
                version          integer     NOT NULL,
                state            text        NOT NULL,
                cause            text,
                kind             text        NOT NULL,
                queue            text        NOT NULL,
                priority         smallint    NOT NULL,
                attempt          integer     NOT NULL,
                max_attempts     integer,
                parkings         integer     NOT NULL,
                run_at           timestamptz,
                deadline         timestamptz,
                gate             text,
                cancel_requested boolean     NOT NULL,
                code             text,
                error_code       text,
                owner_host       text,
                owner_pid        integer,
                owner_boot       uuid,
                claimed_at       timestamptz,
                finished_at      timestamptz,
                operation_id     uuid,
                order_stream_id  uuid,
                order_id         text,
                CONSTRAINT %2$I PRIMARY KEY (stream_id),
                CONSTRAINT %3$I CHECK (
                    state IN ('waiting', 'running', 'succeeded', 'discarded', 'cancelled'))
            ) $sql$, made, made || '_pkey', made || '_state_known');
        -- The list as it is, and jobs by age; then one index for each filter.
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (created_at, stream_id)', made || '_created', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (tenant_id, created_at, stream_id)', made || '_tenant', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (state, created_at, stream_id)', made || '_state', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (kind, created_at, stream_id)', made || '_kind', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (queue, created_at, stream_id)', made || '_queue', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (attempt, created_at, stream_id)', made || '_attempt', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (correlation_id, created_at, stream_id)', made || '_correlation', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (run_at, stream_id) WHERE run_at IS NOT NULL', made || '_run_at', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (error_code, created_at, stream_id) WHERE error_code IS NOT NULL', made || '_error_code', made);
        -- A worker is its host, or one life of it: its boot.
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (owner_host, created_at, stream_id) WHERE owner_host IS NOT NULL', made || '_owner_host', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (owner_boot, created_at, stream_id) WHERE owner_boot IS NOT NULL', made || '_owner_boot', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (operation_id, created_at, stream_id) WHERE operation_id IS NOT NULL', made || '_operation', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (order_stream_id, created_at, stream_id) WHERE order_stream_id IS NOT NULL', made || '_order_stream', made);
        EXECUTE format('CREATE INDEX %I ON counterfoil.%I (order_id, created_at, stream_id) WHERE order_id IS NOT NULL', made || '_order', made);
    END LOOP;
END
$do$;

INSERT INTO counterfoil.projections (name, schema) VALUES ('jobs', 1);
