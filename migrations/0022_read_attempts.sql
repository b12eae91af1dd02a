-- Read models: attempt history and dead letters, each in two tables of one shape (0019).

DO $do$
DECLARE
    slot text;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        -- One row for each change of a job or an operation, never changed afterwards.
        EXECUTE format($sql$
            CREATE TABLE counterfoil.read_attempts_%1$s (
                stream_id      uuid        NOT NULL,
                version        integer     NOT NULL,
                tenant_id      text        NOT NULL,
                stream_kind    text        NOT NULL,
                position       bigint      NOT NULL,
                type           text        NOT NULL,
                status         text        NOT NULL,
                attempt        integer,
                code           text,
                error_code     text,
                correlation_id text        NOT NULL,
                recorded_at    timestamptz NOT NULL,
                actor_type     text        NOT NULL,
                actor_id       text        NOT NULL,
                token          integer,
                -- The history of one job or operation, oldest first.
                CONSTRAINT read_attempts_%1$s_pkey PRIMARY KEY (stream_id, version),
                CONSTRAINT read_attempts_%1$s_kind_known CHECK (stream_kind IN ('job', 'operation'))
            );
            -- The history of an order: everything of its correlation, oldest first.
            CREATE INDEX read_attempts_%1$s_correlation_id
                ON counterfoil.read_attempts_%1$s (tenant_id, correlation_id, position);
            -- How many there were, by what became of them, in all or of one tenant.
            CREATE INDEX read_attempts_%1$s_type
                ON counterfoil.read_attempts_%1$s (type, tenant_id);

            -- One row for each job or operation that may die or has died once. Most are
            -- of work that never dies: those are in no index but the key.
            CREATE TABLE counterfoil.read_dead_letters_%1$s (
                stream_id       uuid        NOT NULL,
                tenant_id       text        NOT NULL,
                stream_kind     text        NOT NULL,
                state           text        NOT NULL,
                kind            text        NOT NULL,
                queue           text        NOT NULL,
                operation       text,
                job_id          uuid,
                order_stream_id uuid,
                entitlement_id  uuid,
                correlation_id  text        NOT NULL,
                code            text,
                error_code      text,
                attempt         integer     NOT NULL,
                died_at         timestamptz,
                ended_at        timestamptz,
                ended_how       text,
                ended_by_type   text,
                ended_by        text,
                created_at      timestamptz NOT NULL,
                updated_at      timestamptz NOT NULL,
                CONSTRAINT read_dead_letters_%1$s_pkey PRIMARY KEY (stream_id),
                CONSTRAINT read_dead_letters_%1$s_kind_known CHECK (stream_kind IN ('job', 'operation')),
                CONSTRAINT read_dead_letters_%1$s_state_known CHECK (state IN ('none', 'open', 'ended')),
                CONSTRAINT read_dead_letters_%1$s_died CHECK (
                    (state = 'none') = (died_at IS NULL) AND (state = 'none') = (code IS NULL)),
                CONSTRAINT read_dead_letters_%1$s_ended CHECK (
                    (state = 'ended') = (ended_at IS NOT NULL)
                    AND (state = 'ended') = (ended_how IS NOT NULL)
                    AND (state = 'ended') = (ended_by_type IS NOT NULL)
                    AND (state = 'ended') = (ended_by IS NOT NULL))
            ) WITH (fillfactor = 70);
            -- Groups by cause: why they are dead, and what their last attempt met.
            CREATE INDEX read_dead_letters_%1$s_cause
                ON counterfoil.read_dead_letters_%1$s (kind, code, (coalesce(error_code, '')), died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_tenant_cause
                ON counterfoil.read_dead_letters_%1$s (tenant_id, kind, code, (coalesce(error_code, '')), died_at, stream_id)
                WHERE state = 'open';
            -- All letters, newest first, and those of one value of each filter.
            CREATE INDEX read_dead_letters_%1$s_died_at
                ON counterfoil.read_dead_letters_%1$s (died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_tenant_id
                ON counterfoil.read_dead_letters_%1$s (tenant_id, died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_kind
                ON counterfoil.read_dead_letters_%1$s (kind, died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_code
                ON counterfoil.read_dead_letters_%1$s (code, died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_error_code
                ON counterfoil.read_dead_letters_%1$s (error_code, died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_queue
                ON counterfoil.read_dead_letters_%1$s (queue, died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_correlation_id
                ON counterfoil.read_dead_letters_%1$s (correlation_id, died_at, stream_id)
                WHERE state = 'open';
            CREATE INDEX read_dead_letters_%1$s_kind_code
                ON counterfoil.read_dead_letters_%1$s (kind, code, died_at, stream_id)
                WHERE state = 'open';
            -- Letters that a person has ended, the last first.
            CREATE INDEX read_dead_letters_%1$s_ended_at
                ON counterfoil.read_dead_letters_%1$s (ended_at, stream_id)
                WHERE state = 'ended';
            CREATE INDEX read_dead_letters_%1$s_ended_tenant_id
                ON counterfoil.read_dead_letters_%1$s (tenant_id, ended_at, stream_id)
                WHERE state = 'ended';
        $sql$, slot);
    END LOOP;
END
$do$;

INSERT INTO counterfoil.projections (name, schema) VALUES ('attempts', 1), ('dead_letters', 1);
