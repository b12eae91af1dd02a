-- Notices: who gives birth to a job that is due wakes a worker that says it is idle.
--
-- NOTIFY in every writing transaction would serialise commits, so it is sent only while
-- somebody is idle; workers that have work say nothing and poll (mechanisms 15).

-- One row for each idle worker process. Unlogged, so that saying it flushes nothing: a
-- crash or a failover empties the table, and workers say it again. What a restore brings
-- back has expired. The key begins with `until`, so that a look passes by what expired,
-- even while an old snapshot keeps those rows from vacuum: one key, one version, never
-- updated in place.
CREATE UNLOGGED TABLE counterfoil.idle_signs (
    until  timestamptz NOT NULL,
    boot   uuid NOT NULL,
    queues text[] NOT NULL,
    CONSTRAINT idle_signs_pkey PRIMARY KEY (until, boot)
);

-- The front door runs with its caller's rights, and roles that could call it before
-- this table was there shall go on; it tells nothing but names of queues.
GRANT SELECT ON counterfoil.idle_signs TO PUBLIC;

-- Wake, when this transaction commits, the idle workers that serve one of `queues`.
--
-- The table is only read: nobody waits for the caller, nor he for anybody. A sign that
-- is said after this look is answered by the next poll, as if there were no notices.
-- PREPARE TRANSACTION refuses a transaction that has notified anybody.
CREATE FUNCTION counterfoil.notify_idle(queues text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- Mostly nobody is idle, and this first look is the cheaper one.
    -- A queue that somebody's session has filled would fail the commit of what was paid.
    IF EXISTS (SELECT FROM counterfoil.idle_signs s WHERE s.until > counterfoil.now())
       AND pg_notification_queue_usage() < 0.5 THEN
        PERFORM pg_notify('counterfoil_due', due.queue)
           FROM (SELECT DISTINCT q.queue
                   FROM counterfoil.idle_signs s
                  CROSS JOIN LATERAL unnest(s.queues) AS q(queue)
                  WHERE s.until > counterfoil.now()
                    AND q.queue = ANY (notify_idle.queues)) due;
    END IF;
END
$$;

-- The settlement with every default filled in: what is hashed, and what is recorded.
-- `notify` is neither: how the order was said is no part of it.
CREATE OR REPLACE FUNCTION counterfoil.accepted_settlement(asked jsonb, at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    tenant      text;
    order_id    text;
    customer_id text;
    kind        text;
    currency    text;
    amount      bigint;
    discount    bigint;
    slot        bigint;
    effective   timestamptz;
    correlation text;
    lines       jsonb := '[]';
BEGIN
    IF jsonb_typeof(asked) IS DISTINCT FROM 'object' THEN
        PERFORM counterfoil.refuse_request('invalid_member', '', 'the request is an object');
    END IF;
    PERFORM counterfoil.refuse_unknown_members(asked, '', ARRAY[
        'tenant', 'orderId', 'customerId', 'kind', 'currency', 'amountMinor', 'discountMinor', 'slot',
        'effectiveAt', 'correlationId', 'lines', 'notify']);
    tenant := counterfoil.read_text(coalesce(asked->'tenant', '"default"'), 'tenant', 64);
    order_id := counterfoil.read_text(asked->'orderId', 'orderId', 128);
    customer_id := counterfoil.read_text(asked->'customerId', 'customerId', 128);
    kind := counterfoil.read_text(asked->'kind', 'kind', 32);
    IF kind NOT IN ('purchase', 'renewal', 'extension', 'upgrade', 'downgrade', 'topup', 'addon') THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', 'kind', 'purchase, renewal, extension, upgrade, downgrade, topup or addon');
    ELSIF kind IN ('downgrade', 'addon') THEN
        PERFORM counterfoil.refuse_request('not_supported_yet', 'kind', kind || ' is not settled yet');
    END IF;
    currency := counterfoil.read_text(asked->'currency', 'currency', 128);
    IF currency !~ '^[A-Z]{3}$' THEN
        PERFORM counterfoil.refuse_request('invalid_member', 'currency', 'three capital letters of ISO 4217');
    END IF;
    amount := counterfoil.read_integer(asked->'amountMinor', 'amountMinor', 0, 9223372036854775807);
    discount := counterfoil.read_integer(
        coalesce(asked->'discountMinor', '0'), 'discountMinor', 0, 9223372036854775807);
    slot := counterfoil.read_integer(coalesce(asked->'slot', '1'), 'slot', 1, 32767);
    effective := counterfoil.read_instant(asked->'effectiveAt', 'effectiveAt');
    IF effective > at THEN
        PERFORM counterfoil.refuse_request('not_supported_yet', 'effectiveAt', 'only orders of now are settled yet');
    END IF;
    IF asked ? 'correlationId' THEN
        correlation := counterfoil.read_text(asked->'correlationId', 'correlationId', 128);
    ELSE
        correlation := 'order:' || order_id;
    END IF;
    IF kind <> 'topup' THEN
        lines := counterfoil.accepted_lines(asked->'lines', kind <> 'purchase');
    ELSIF coalesce(asked->'lines', '[]') <> '[]' THEN
        PERFORM counterfoil.refuse_request('invalid_member', 'lines', 'a topup owes nothing, so it has no lines');
    END IF;
    PERFORM counterfoil.read_flag(coalesce(asked->'notify', 'true'), 'notify');
    RETURN jsonb_build_object(
        'tenant', tenant,
        'orderId', order_id,
        'customerId', customer_id,
        'kind', kind,
        'currency', currency,
        'amountMinor', amount,
        'discountMinor', discount,
        'slot', slot,
        'effectiveAt', counterfoil.instant_text(effective),
        'correlationId', correlation,
        'lines', lines);
END
$$;

-- Settle one paid order: the order, its job, their message and its key, or nothing (I1).
--
-- The same order again answers what was stored; another order under the same id is
-- refused (I5). Errors: CF400 (DETAIL: the member's path), CF409 (HINT: the code),
-- 40001: repeat the transaction.
CREATE OR REPLACE FUNCTION counterfoil.settle_order(request jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
DECLARE
    at          CONSTANT timestamptz := counterfoil.now();
    asked       CONSTANT jsonb := counterfoil.accepted_settlement(request, at);
    digest      CONSTANT bytea := sha256(convert_to(asked::text, 'UTF8'));
    tenant      CONSTANT text := asked->>'tenant';
    correlation CONSTANT text := asked->>'correlationId';
    owes        CONSTANT boolean := asked->>'kind' <> 'topup';
    state       CONSTANT text := CASE WHEN owes THEN 'paid' ELSE 'fulfilled' END;
    tag         CONSTANT text := CASE WHEN owes THEN 'order.paid' ELSE 'wallet.credited' END;
    order_at    bigint;
    job_at      bigint;
    order_uuid  CONSTANT uuid := counterfoil.uuid7();
    job_uuid    uuid;
    stored      counterfoil.external_keys;
    line        CONSTANT jsonb := asked->'lines'->0;
    facts       jsonb;
    job         jsonb;
    meta        jsonb;
BEGIN
    -- A statement that inserts nothing fires the trigger that takes the ticket; from
    -- then on positions may be drawn before their rows are written.
    INSERT INTO counterfoil.events SELECT e.* FROM counterfoil.events e WHERE false;
    order_at := nextval('counterfoil.position_seq');
    IF owes THEN
        job_uuid := counterfoil.uuid7();
        job_at := nextval('counterfoil.position_seq');
    END IF;

    FOR round IN 1 .. 5 LOOP
        INSERT INTO counterfoil.external_keys
               (tenant_id, kind, key, request_hash, stream_id, job_id, position, created_at)
        VALUES (tenant, 'order', asked->>'orderId', digest, order_uuid, job_uuid, coalesce(job_at, order_at), at)
        ON CONFLICT (tenant_id, kind, key) DO NOTHING;
        EXIT WHEN FOUND;
        -- EXECUTE plans anew: a cached plan that was made while the table was small
        -- would scan it when it is large.
        EXECUTE 'SELECT k.* FROM counterfoil.external_keys k
                  WHERE k.tenant_id = $1 AND k.kind = ''order'' AND k.key = $2'
           INTO stored USING tenant, asked->>'orderId';
        IF stored.request_hash <> digest THEN
            RAISE EXCEPTION 'idempotency_key_reused: order % was settled with other content', stored.key
                USING ERRCODE = 'CF409', HINT = 'idempotency_key_reused', DETAIL = 'orderId';
        ELSIF stored.request_hash = digest THEN
            RETURN jsonb_build_object('orderId', stored.key, 'streamId', stored.stream_id, 'jobId', stored.job_id,
                                      'replayed', true, 'position', stored.position);
        ELSIF round = 5 THEN
            RAISE EXCEPTION 'serialization_failure: the key of order % comes and goes', asked->>'orderId'
                USING ERRCODE = '40001';
        END IF;
    END LOOP;

    meta := jsonb_build_object(
        'actor', jsonb_build_object('type', 'shop', 'id', session_user),
        'correlation_id', correlation,
        'commit_id', counterfoil.uuid7());
    facts := jsonb_build_object(
        'order_id', asked->'orderId',
        'customer_id', asked->'customerId',
        'slot', asked->'slot',
        'currency', asked->'currency',
        'amount_minor', asked->'amountMinor',
        'discount_minor', asked->'discountMinor');
    IF owes THEN
        facts := facts || jsonb_build_object(
            'kind', asked->'kind',
            'effective_at', asked->'effectiveAt',
            'lines', jsonb_build_array(jsonb_build_object(
                'line', line->'line',
                'type', line->'type',
                'days', line->'days',
                'ends_at', line->'endsAt',
                'grace_seconds', line->'graceSeconds',
                'traffic_bytes', line->'trafficBytes',
                'device_limit', line->'deviceLimit',
                'squad_ids', line->'squadIds',
                'reset_traffic', line->'resetTraffic')));
        job := jsonb_build_object(
            'kind', 'order_fanout',
            'queue', 'critical',
            'priority', 1,
            'args', jsonb_build_object('order_stream_id', order_uuid),
            'unique_key', 'order_fanout:' || order_uuid::text,
            'serial_key', 'fanout:' || (asked->>'customerId') || ':' || (asked->>'slot'),
            'serial_order', 0,
            'run_at', counterfoil.instant_text(at),
            'max_attempts', NULL,
            'deadline', NULL);
        INSERT INTO counterfoil.events (position, tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
        VALUES (order_at, tenant, order_uuid, 1, tag, 1, facts, meta, at),
               (job_at, tenant, job_uuid, 1, 'job.enqueued', 1, job,
                meta || jsonb_build_object('causation', jsonb_build_object('event', order_at)), at);
        INSERT INTO counterfoil.jobs
               (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt, parkings,
                unique_key, serial_key, serial_order, cancel_requested, correlation_id, args)
        VALUES (job_uuid, tenant, 1, 'waiting', 'order_fanout', 'critical', 1, at, 0, 0,
                job->>'unique_key', job->>'serial_key', 0, false, correlation, job->'args');
    ELSE
        INSERT INTO counterfoil.events (position, tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
        VALUES (order_at, tenant, order_uuid, 1, tag, 1, facts, meta, at);
    END IF;
    INSERT INTO counterfoil.orders
           (stream_id, tenant_id, version, state, order_id, customer_id, slot, kind, currency,
            amount_minor, discount_minor, correlation_id)
    VALUES (order_uuid, tenant, 1, state, asked->>'orderId', asked->>'customerId', (asked->'slot')::integer,
            asked->>'kind', asked->>'currency', (asked->'amountMinor')::bigint, (asked->'discountMinor')::bigint,
            correlation);
    INSERT INTO counterfoil.outbox (id, position, tenant_id, topic, stream_id, version, data, recorded_at)
    VALUES (counterfoil.uuid7(), order_at, tenant, tag, order_uuid, 1,
            jsonb_build_object(
                'order_stream_id', order_uuid,
                'order_id', asked->'orderId',
                'customer_id', asked->'customerId',
                'slot', asked->'slot',
                'kind', asked->'kind',
                'state', state,
                'currency', asked->'currency',
                'amount_minor', asked->'amountMinor',
                'discount_minor', asked->'discountMinor'),
            at);
    IF owes AND coalesce(request->'notify', 'true') <> 'false' THEN
        PERFORM counterfoil.notify_idle(ARRAY['critical']);
    END IF;

    RETURN jsonb_build_object('orderId', asked->'orderId', 'streamId', order_uuid, 'jobId', job_uuid,
                              'replayed', false, 'position', coalesce(job_at, order_at));
END
$$;
