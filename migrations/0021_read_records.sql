-- Read models of records: operations, orders, entitlements, drifts, and the audit.
--
-- Each lives in two tables of one shape (0019_projections.sql). Newest first is the order
-- of every list; each filter has an index that gives its rows in that order, so a page is
-- a walk along one of them. No state is checked here: a row is what the log says.

DO $records$
DECLARE
    slot text;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        EXECUTE format($table$
            CREATE TABLE counterfoil.%1$I (
                stream_id       uuid        NOT NULL,
                tenant_id       text        NOT NULL,
                state           text        NOT NULL,
                operation       text        NOT NULL,
                entitlement_id  uuid        NOT NULL,
                order_stream_id uuid,
                desired_version integer     NOT NULL,
                attempts        integer     NOT NULL,
                code            text,
                parked_cause    text,
                next_attempt_at timestamptz,
                effective_at    timestamptz NOT NULL,
                covered_by      uuid,
                correlation_id  text        NOT NULL,
                created_at      timestamptz NOT NULL,
                updated_at      timestamptz NOT NULL,
                completed_at    timestamptz,
                CONSTRAINT %2$I PRIMARY KEY (stream_id)
            ) WITH (fillfactor = 70)
            $table$, 'read_operations_' || slot, 'read_operations_' || slot || '_pkey');
        EXECUTE format($table$
            CREATE TABLE counterfoil.%1$I (
                stream_id      uuid        NOT NULL,
                tenant_id      text        NOT NULL,
                order_id       text        NOT NULL,
                customer_id    text        NOT NULL,
                slot           integer     NOT NULL,
                kind           text        NOT NULL,
                state          text        NOT NULL,
                currency       text        NOT NULL,
                amount_minor   bigint      NOT NULL,
                discount_minor bigint      NOT NULL,
                refunded_minor bigint,
                effective_at   timestamptz,
                fulfilled_by   uuid,
                correlation_id text        NOT NULL,
                created_at     timestamptz NOT NULL,
                updated_at     timestamptz NOT NULL,
                fulfilled_at   timestamptz,
                refunded_at    timestamptz,
                CONSTRAINT %2$I PRIMARY KEY (stream_id)
            ) WITH (fillfactor = 70)
            $table$, 'read_orders_' || slot, 'read_orders_' || slot || '_pkey');
        EXECUTE format($table$
            CREATE TABLE counterfoil.%1$I (
                stream_id              uuid        NOT NULL,
                tenant_id              text        NOT NULL,
                customer_id            text        NOT NULL,
                slot                   integer     NOT NULL,
                username               text        NOT NULL,
                state                  text        NOT NULL,
                paused_at              timestamptz,
                disabled_version       integer,
                enables_at             timestamptz,
                desired_version        integer     NOT NULL,
                ends_at                timestamptz,
                planned_ends_at        timestamptz,
                changes_at             timestamptz,
                grace_seconds          integer     NOT NULL,
                traffic_bytes          bigint,
                device_limit           integer,
                squads                 integer     NOT NULL,
                panel_user_id          bigint,
                observed_status        text,
                observed_expire_at     timestamptz,
                observed_traffic_bytes bigint,
                observed_device_limit  bigint,
                observed_squads        integer,
                observed_at            timestamptz,
                drifts                 jsonb       NOT NULL,
                correlation_id         text        NOT NULL,
                created_at             timestamptz NOT NULL,
                updated_at             timestamptz NOT NULL,
                CONSTRAINT %2$I PRIMARY KEY (stream_id)
            ) WITH (fillfactor = 70)
            $table$, 'read_entitlements_' || slot, 'read_entitlements_' || slot || '_pkey');
        EXECUTE format($table$
            CREATE TABLE counterfoil.%1$I (
                stream_id      uuid        NOT NULL,
                kind           text        NOT NULL,
                tenant_id      text        NOT NULL,
                state          text        NOT NULL,
                expected       jsonb       NOT NULL,
                observed       jsonb       NOT NULL,
                episodes       integer     NOT NULL,
                position       bigint      NOT NULL,
                detected_at    timestamptz NOT NULL,
                refreshed_at   timestamptz NOT NULL,
                resolved_at    timestamptz,
                correlation_id text        NOT NULL,
                created_at     timestamptz NOT NULL,
                updated_at     timestamptz NOT NULL,
                CONSTRAINT %2$I PRIMARY KEY (stream_id, kind)
            ) WITH (fillfactor = 70)
            $table$, 'read_drifts_' || slot, 'read_drifts_' || slot || '_pkey');
        EXECUTE format($table$
            CREATE TABLE counterfoil.%1$I (
                position       bigint      NOT NULL,
                stream_id      uuid        NOT NULL,
                tenant_id      text        NOT NULL,
                recorded_at    timestamptz NOT NULL,
                actor_type     text        NOT NULL,
                actor_id       text        NOT NULL,
                action         text        NOT NULL,
                target         text        NOT NULL,
                target_kind    text,
                outcome        text        NOT NULL,
                code           text,
                reason         text,
                request_id     text,
                correlation_id text        NOT NULL,
                commit_id      uuid,
                CONSTRAINT %2$I PRIMARY KEY (position)
            )
            $table$, 'read_audit_' || slot, 'read_audit_' || slot || '_pkey');
    END LOOP;
END
$records$;

-- What each index is for is its name: the column that is asked for, then the list's order.
DO $indexes$
DECLARE
    slot  text;
    wanted record;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        FOR wanted IN
            SELECT *
              FROM (VALUES
                ('operations', 'created', 'created_at, stream_id', ''),
                ('operations', 'tenant_id', 'tenant_id, created_at, stream_id', ''),
                ('operations', 'state', 'state, created_at, stream_id', ''),
                ('operations', 'operation', 'operation, created_at, stream_id', ''),
                ('operations', 'entitlement_id', 'entitlement_id, created_at, stream_id', ''),
                ('operations', 'order_stream_id', 'order_stream_id, created_at, stream_id',
                 'order_stream_id IS NOT NULL'),
                ('operations', 'code', 'code, created_at, stream_id', 'code IS NOT NULL'),
                -- Which desired version the panel was last brought to.
                ('operations', 'applied', 'entitlement_id, desired_version', $$state = 'succeeded'$$),
                ('orders', 'created', 'created_at, stream_id', ''),
                ('orders', 'tenant_id', 'tenant_id, created_at, stream_id', ''),
                ('orders', 'state', 'state, created_at, stream_id', ''),
                ('orders', 'kind', 'kind, created_at, stream_id', ''),
                ('orders', 'customer_id', 'customer_id, created_at, stream_id', ''),
                ('orders', 'order_id', 'order_id, created_at, stream_id', ''),
                ('entitlements', 'created', 'created_at, stream_id', ''),
                ('entitlements', 'tenant_id', 'tenant_id, created_at, stream_id', ''),
                ('entitlements', 'state', 'state, created_at, stream_id', ''),
                ('entitlements', 'customer_id', 'customer_id, created_at, stream_id', ''),
                ('entitlements', 'planned_ends_at', 'planned_ends_at', 'planned_ends_at IS NOT NULL'),
                ('drifts', 'position', 'position', ''),
                ('drifts', 'tenant_id', 'tenant_id, position', ''),
                ('drifts', 'state', 'state, position', ''),
                ('drifts', 'kind', 'kind, position', ''),
                ('drifts', 'stream_id', 'stream_id, position', ''),
                ('audit', 'tenant_id', 'tenant_id, position', ''),
                ('audit', 'recorded_at', 'recorded_at', ''),
                ('audit', 'actor_id', 'actor_id, position', ''),
                ('audit', 'action', 'action, position', ''),
                ('audit', 'target', 'target, position', ''),
                ('audit', 'outcome', 'outcome, position', '')
              ) AS each(model, name, columns, condition)
        LOOP
            EXECUTE format('CREATE INDEX %I ON counterfoil.%I (%s)%s',
                           format('read_%s_%s_%s', wanted.model, slot, wanted.name),
                           format('read_%s_%s', wanted.model, slot),
                           wanted.columns,
                           CASE WHEN wanted.condition <> '' THEN ' WHERE ' || wanted.condition ELSE '' END);
        END LOOP;
    END LOOP;
END
$indexes$;

INSERT INTO counterfoil.projections (name, schema)
VALUES ('operations', 1), ('orders', 1), ('entitlements', 1), ('drifts', 1), ('audit', 1);
