-- Goods in the read models: their own list, and in those of attempts, letters and jobs.
--
-- Never the recipient: who that is belongs to the delivery alone.

DO $deliveries$
DECLARE
    slot   text;
    made   text;
    wanted record;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        made := 'read_deliveries_' || slot;
        EXECUTE format($table$
            CREATE TABLE counterfoil.%1$I (
                stream_id       uuid        NOT NULL,
                tenant_id       text        NOT NULL,
                state           text        NOT NULL,
                order_stream_id uuid        NOT NULL,
                order_id        text        NOT NULL,
                customer_id     text        NOT NULL,
                line            integer     NOT NULL,
                provider        text        NOT NULL,
                product         text        NOT NULL,
                quantity        integer     NOT NULL,
                currency        text        NOT NULL,
                cost_minor      bigint      NOT NULL,
                price_minor     bigint      NOT NULL,
                paid_minor      bigint      NOT NULL,
                refunded_minor  bigint,
                purchases       integer     NOT NULL,
                decision        integer     NOT NULL,
                standing        text        NOT NULL,
                withdraws_to    text        NOT NULL,
                reference       text,
                failure_class   text,
                code            text,
                deferred_code   text,
                next_at         timestamptz,
                restored_at     timestamptz,
                is_doubtful     boolean     NOT NULL,
                proposed_by     text,
                reviewed_at     timestamptz,
                decided_by      text,
                correlation_id  text        NOT NULL,
                created_at      timestamptz NOT NULL,
                updated_at      timestamptz NOT NULL,
                completed_at    timestamptz,
                CONSTRAINT %2$I PRIMARY KEY (stream_id)
            ) WITH (fillfactor = 70)
            $table$, made, made || '_pkey');
        -- The column that is asked for, then the list's order: newest first.
        FOR wanted IN
            SELECT *
              FROM (VALUES
                ('created', 'created_at, stream_id', ''),
                ('tenant_id', 'tenant_id, created_at, stream_id', ''),
                ('state', 'state, created_at, stream_id', ''),
                ('provider', 'provider, created_at, stream_id', ''),
                ('customer_id', 'customer_id, created_at, stream_id', ''),
                ('order_id', 'order_id, created_at, stream_id', ''),
                ('code', 'code, created_at, stream_id', 'code IS NOT NULL'),
                -- What an order waits for.
                ('order_stream_id', 'order_stream_id, line', '')
              ) AS each(name, columns, condition)
        LOOP
            EXECUTE format('CREATE INDEX %I ON counterfoil.%I (%s)%s',
                           made || '_' || wanted.name, made, wanted.columns,
                           CASE WHEN wanted.condition <> '' THEN ' WHERE ' || wanted.condition ELSE '' END);
        END LOOP;
    END LOOP;
END
$deliveries$;

DO $others$
DECLARE
    slot text;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        EXECUTE format($sql$
            -- Some events of a delivery do not tell its state: what a provider says of a
            -- purchase means one thing before a review and another one in it. Kinds are
            -- not checked any more: a row is what the log says, and checking them anew
            -- would read all of it under a lock.
            ALTER TABLE counterfoil.read_attempts_%1$s
                ALTER COLUMN status DROP NOT NULL,
                DROP CONSTRAINT read_attempts_%1$s_kind_known;
            ALTER TABLE counterfoil.read_dead_letters_%1$s
                DROP CONSTRAINT read_dead_letters_%1$s_kind_known;
            ALTER TABLE counterfoil.read_jobs_%1$s ADD COLUMN delivery_id uuid;
            -- The job that buys, or asks.
            CREATE INDEX read_jobs_%1$s_delivery
                ON counterfoil.read_jobs_%1$s (delivery_id, created_at, stream_id)
                WHERE delivery_id IS NOT NULL;
        $sql$, slot);
    END LOOP;
END
$others$;

INSERT INTO counterfoil.projections (name, schema) VALUES ('deliveries', 1);

-- These fold events of goods from now on. As long as the log holds none, their rows are
-- what the new folds make of it, and nobody has to rebuild them; processes of the earlier
-- version, which would step over such events, leave them alone from here on.
UPDATE counterfoil.projections
   SET schema = 2
 WHERE name IN ('jobs', 'attempts', 'dead_letters', 'audit', 'outbox_lag')
   AND schema = 1
   AND NOT EXISTS (SELECT FROM counterfoil.deliveries);
