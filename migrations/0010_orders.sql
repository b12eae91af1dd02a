-- Orders of every kind, and refunds.
--
-- A downgrade is an order like the others, and any order may take effect later. An
-- add-on changes what a customer has, so what it does not say stays as it is. A refund
-- is a birth like a settlement: what it means is decided by its job.

-- Refunded is final; what was fulfilled before stays so on record.
ALTER TABLE counterfoil.orders DROP CONSTRAINT orders_state_known;
ALTER TABLE counterfoil.orders ADD CONSTRAINT orders_state_known CHECK (
    state IN ('paid', 'fulfilled', 'refunded'));
ALTER TABLE counterfoil.orders DROP CONSTRAINT orders_fulfilled_by;
ALTER TABLE counterfoil.orders ADD CONSTRAINT orders_fulfilled_by CHECK (
    state IN ('fulfilled', 'refunded') OR fulfilled_by IS NULL);

-- A refund is the one way out of fulfilled, and changes nothing else (I6).
DROP TRIGGER orders_final ON counterfoil.orders;
CREATE TRIGGER orders_final BEFORE UPDATE ON counterfoil.orders
    FOR EACH ROW WHEN (
        OLD.state = 'refunded'
        OR (OLD.state = 'fulfilled'
            AND (NEW.state <> 'refunded'
                 OR (NEW.tenant_id, NEW.order_id, NEW.customer_id, NEW.slot, NEW.kind, NEW.currency, NEW.amount_minor,
                     NEW.discount_minor, NEW.fulfilled_by, NEW.correlation_id)
                    IS DISTINCT FROM
                    (OLD.tenant_id, OLD.order_id, OLD.customer_id, OLD.slot, OLD.kind, OLD.currency, OLD.amount_minor,
                     OLD.discount_minor, OLD.fulfilled_by, OLD.correlation_id))))
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();

-- An order is refunded once, for ever (I5).
ALTER TABLE counterfoil.external_keys DROP CONSTRAINT external_keys_kind_known;
ALTER TABLE counterfoil.external_keys ADD CONSTRAINT external_keys_kind_known CHECK (kind IN ('order', 'refund'));

-- Text on one line, spaces within it, that neither begins nor ends with nothing visible.
CREATE FUNCTION counterfoil.read_sentence(member jsonb, path text, shortest integer, longest integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    told text := member #>> '{}';
BEGIN
    IF member IS NULL THEN
        PERFORM counterfoil.refuse_request('missing_member', path, 'is required');
    END IF;
    IF jsonb_typeof(member) <> 'string' OR length(told) NOT BETWEEN shortest AND longest
       OR told ~ '[\u0001-\u001F\u007F-\u009F\u2028\u2029]'
       OR (left(told, 1) || right(told, 1)) ~ '[\u0001-\u0020\u007F-\u00A0\u00AD\u061C\u1680\u180E\u2000-\u200F\u2028-\u202F\u205F-\u206F\u3000\uFEFF\uFFF9-\uFFFB\U000E0000-\U000E007F]' THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', path, format('text of %s to %s characters on one line', shortest, longest));
    END IF;
    RETURN told;
END
$$;

-- The line of an add-on: only what was given is told again, so a null means unlimited.
CREATE FUNCTION counterfoil.accepted_addon_line(line jsonb, path text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    accepted jsonb;
    changes  jsonb := '{}';
    ends_at  timestamptz;
BEGIN
    PERFORM counterfoil.refuse_unknown_members(line, path || '.', ARRAY[
        'line', 'type', 'days', 'endsAt', 'graceSeconds', 'trafficBytes', 'deviceLimit', 'squadIds', 'resetTraffic']);
    accepted := jsonb_build_object(
        'line', counterfoil.read_integer(line->'line', path || '.line', 1, 32767), 'type', 'access');
    IF coalesce(line->'days', 'null') <> 'null' THEN
        changes := changes || jsonb_build_object(
            'days', counterfoil.read_integer(line->'days', path || '.days', 1, 36500));
    END IF;
    ends_at := counterfoil.read_instant(line->'endsAt', path || '.endsAt');
    IF ends_at IS NOT NULL THEN
        IF changes ? 'days' THEN
            PERFORM counterfoil.refuse_request('invalid_member', path || '.endsAt', 'either days or endsAt, not both');
        END IF;
        changes := changes || jsonb_build_object('endsAt', counterfoil.instant_text(ends_at));
    END IF;
    IF line->'trafficBytes' = 'null' THEN
        changes := changes || jsonb_build_object('trafficBytes', NULL);
    ELSIF line ? 'trafficBytes' THEN
        changes := changes || jsonb_build_object('trafficBytes', counterfoil.read_integer(
            line->'trafficBytes', path || '.trafficBytes', 0, 9007199254740991));
    END IF;
    IF line->'deviceLimit' = 'null' THEN
        changes := changes || jsonb_build_object('deviceLimit', NULL);
    ELSIF line ? 'deviceLimit' THEN
        changes := changes || jsonb_build_object('deviceLimit', counterfoil.read_integer(
            line->'deviceLimit', path || '.deviceLimit', 1, 2147483647));
    END IF;
    IF line ? 'graceSeconds' THEN
        changes := changes || jsonb_build_object('graceSeconds', counterfoil.read_integer(
            line->'graceSeconds', path || '.graceSeconds', 0, 31536000));
    END IF;
    IF line ? 'squadIds' THEN
        changes := changes || jsonb_build_object('squadIds', counterfoil.read_squads(
            line->'squadIds', path || '.squadIds'));
    END IF;
    IF counterfoil.read_flag(coalesce(line->'resetTraffic', 'false'), path || '.resetTraffic') THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', path || '.resetTraffic', 'an add-on never resets traffic');
    END IF;
    IF changes = '{}' THEN
        PERFORM counterfoil.refuse_request('missing_member', path, 'an add-on says at least one thing it changes');
    END IF;
    RETURN accepted || changes;
END
$$;

-- The lines of an order that owes something: exactly one, of access, until goods exist.
CREATE FUNCTION counterfoil.accepted_lines(lines jsonb, kind text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    accepted jsonb;
    path     text;
BEGIN
    IF lines IS NULL THEN
        PERFORM counterfoil.refuse_request('missing_member', 'lines', 'is required');
    END IF;
    IF jsonb_typeof(lines) <> 'array' OR jsonb_array_length(lines) NOT BETWEEN 1 AND 100 THEN
        PERFORM counterfoil.refuse_request('invalid_member', 'lines', 'a list of 1 to 100 lines');
    END IF;
    FOR i IN 0 .. jsonb_array_length(lines) - 1 LOOP
        path := format('lines[%s]', i);
        IF jsonb_typeof(lines->i) <> 'object' THEN
            PERFORM counterfoil.refuse_request('invalid_member', path, 'an object');
        END IF;
        CASE counterfoil.read_text(lines->i->'type', path || '.type', 32)
            WHEN 'access' THEN
                IF accepted IS NOT NULL THEN
                    PERFORM counterfoil.refuse_request(
                        'invalid_member', path || '.type', 'an order has at most one access line');
                ELSIF kind = 'addon' THEN
                    accepted := counterfoil.accepted_addon_line(lines->i, path);
                ELSE
                    accepted := counterfoil.accepted_line(
                        lines->i, path, kind IN ('renewal', 'extension', 'upgrade'));
                END IF;
            WHEN 'goods' THEN
                PERFORM counterfoil.refuse_request(
                    'not_supported_yet', path || '.type', 'goods are not sold yet');
            ELSE
                PERFORM counterfoil.refuse_request('invalid_member', path || '.type', 'access or goods');
        END CASE;
    END LOOP;
    RETURN jsonb_build_array(accepted);
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
    IF kind = 'addon' AND effective > at THEN
        PERFORM counterfoil.refuse_request('not_supported_yet', 'effectiveAt', 'an add-on takes effect at once');
    END IF;
    IF asked ? 'correlationId' THEN
        correlation := counterfoil.read_text(asked->'correlationId', 'correlationId', 128);
    ELSE
        correlation := 'order:' || order_id;
    END IF;
    IF kind <> 'topup' THEN
        lines := counterfoil.accepted_lines(asked->'lines', kind);
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

-- A line as events store it: the same members, under the stored names.
CREATE FUNCTION counterfoil.stored_line(line jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_object_agg(
               CASE m.key WHEN 'endsAt' THEN 'ends_at'
                             WHEN 'graceSeconds' THEN 'grace_seconds'
                             WHEN 'trafficBytes' THEN 'traffic_bytes'
                             WHEN 'deviceLimit' THEN 'device_limit'
                             WHEN 'squadIds' THEN 'squad_ids'
                             WHEN 'resetTraffic' THEN 'reset_traffic'
                             ELSE m.key END,
               m.value)
      FROM jsonb_each(line) m
);

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
    tag         CONSTANT text := CASE asked->>'kind' WHEN 'topup' THEN 'wallet.credited'
                                                     WHEN 'addon' THEN 'addon.purchased'
                                                     ELSE 'order.paid' END;
    order_at    bigint;
    job_at      bigint;
    order_uuid  CONSTANT uuid := counterfoil.uuid7();
    job_uuid    uuid;
    stored      counterfoil.external_keys;
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
            'lines', jsonb_build_array(counterfoil.stored_line(asked->'lines'->0)));
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

-- Nobody calls it any more.
DROP FUNCTION counterfoil.accepted_lines(jsonb, boolean);

-- The refund with every default filled in: what is hashed, and what its job is told.
CREATE FUNCTION counterfoil.accepted_refund(asked jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    tenant      text;
    order_id    text;
    lines       jsonb := asked->'lines';
    number      bigint;
    accepted    jsonb := 'null';
    amount      bigint;
    reason      text;
    correlation text;
BEGIN
    IF jsonb_typeof(asked) IS DISTINCT FROM 'object' THEN
        PERFORM counterfoil.refuse_request('invalid_member', '', 'the request is an object');
    END IF;
    PERFORM counterfoil.refuse_unknown_members(asked, '', ARRAY[
        'tenant', 'orderId', 'lines', 'amountMinor', 'reason', 'correlationId', 'notify']);
    tenant := counterfoil.read_text(coalesce(asked->'tenant', '"default"'), 'tenant', 64);
    order_id := counterfoil.read_text(asked->'orderId', 'orderId', 128);
    IF coalesce(lines, 'null') <> 'null' THEN
        IF jsonb_typeof(lines) <> 'array' OR jsonb_array_length(lines) NOT BETWEEN 1 AND 100 THEN
            PERFORM counterfoil.refuse_request('invalid_member', 'lines', 'a list of 1 to 100 numbers of lines');
        END IF;
        accepted := '[]';
        FOR i IN 0 .. jsonb_array_length(lines) - 1 LOOP
            number := counterfoil.read_integer(lines->i, format('lines[%s]', i), 1, 32767);
            IF accepted @> to_jsonb(number) THEN
                PERFORM counterfoil.refuse_request(
                    'invalid_member', format('lines[%s]', i), 'the same line a second time');
            END IF;
            accepted := accepted || to_jsonb(number);
        END LOOP;
    END IF;
    IF coalesce(asked->'amountMinor', 'null') <> 'null' THEN
        amount := counterfoil.read_integer(asked->'amountMinor', 'amountMinor', 0, 9223372036854775807);
    END IF;
    reason := counterfoil.read_sentence(asked->'reason', 'reason', 3, 400);
    IF asked ? 'correlationId' THEN
        correlation := counterfoil.read_text(asked->'correlationId', 'correlationId', 128);
    ELSE
        correlation := 'order:' || order_id;
    END IF;
    PERFORM counterfoil.read_flag(coalesce(asked->'notify', 'true'), 'notify');
    RETURN jsonb_build_object(
        'tenant', tenant,
        'orderId', order_id,
        'lines', accepted,
        'amountMinor', amount,
        'reason', reason,
        'correlationId', correlation);
END
$$;

-- Refund one order, once: a job that decides what it means, and its key, or nothing.
--
-- `streamId` is the order, null as long as nobody has settled it here. The same refund
-- again answers what was stored; another one of the same order is refused (I5). Errors
-- as those of `settle_order`.
CREATE OR REPLACE FUNCTION counterfoil.refund_order(request jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
DECLARE
    at          CONSTANT timestamptz := counterfoil.now();
    asked       CONSTANT jsonb := counterfoil.accepted_refund(request);
    digest      CONSTANT bytea := sha256(convert_to(asked::text, 'UTF8'));
    tenant      CONSTANT text := asked->>'tenant';
    correlation CONSTANT text := asked->>'correlationId';
    args        CONSTANT jsonb := jsonb_build_object(
        'order_id', asked->'orderId',
        'lines', asked->'lines',
        'amount_minor', asked->'amountMinor',
        'reason', asked->'reason');
    job_uuid    CONSTANT uuid := counterfoil.uuid7();
    job_at      bigint;
    order_uuid  uuid;
    stored      counterfoil.external_keys;
BEGIN
    -- As in `settle_order`: the ticket first, then the position.
    INSERT INTO counterfoil.events SELECT e.* FROM counterfoil.events e WHERE false;
    job_at := nextval('counterfoil.position_seq');

    FOR round IN 1 .. 5 LOOP
        INSERT INTO counterfoil.external_keys
               (tenant_id, kind, key, request_hash, stream_id, job_id, position, created_at)
        VALUES (tenant, 'refund', asked->>'orderId', digest, job_uuid, job_uuid, job_at, at)
        ON CONFLICT (tenant_id, kind, key) DO NOTHING;
        EXIT WHEN FOUND;
        -- EXECUTE plans anew, here and below: see `settle_order`.
        EXECUTE 'SELECT k.* FROM counterfoil.external_keys k
                  WHERE k.tenant_id = $1 AND k.kind = ''refund'' AND k.key = $2'
           INTO stored USING tenant, asked->>'orderId';
        IF stored.request_hash <> digest THEN
            RAISE EXCEPTION 'idempotency_key_reused: order % was refunded with other content', stored.key
                USING ERRCODE = 'CF409', HINT = 'idempotency_key_reused', DETAIL = 'orderId';
        ELSIF stored.request_hash = digest THEN
            EXIT;
        ELSIF round = 5 THEN
            RAISE EXCEPTION 'serialization_failure: the key of the refund of order % comes and goes', asked->>'orderId'
                USING ERRCODE = '40001';
        END IF;
    END LOOP;
    -- Of the order only its key is read, and nothing is decided from it.
    EXECUTE 'SELECT k.stream_id FROM counterfoil.external_keys k
              WHERE k.tenant_id = $1 AND k.kind = ''order'' AND k.key = $2'
       INTO order_uuid USING tenant, asked->>'orderId';
    IF stored.key IS NOT NULL THEN
        RETURN jsonb_build_object('orderId', stored.key, 'streamId', order_uuid, 'jobId', stored.job_id,
                                  'replayed', true, 'position', stored.position);
    END IF;

    INSERT INTO counterfoil.events (position, tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
    VALUES (job_at, tenant, job_uuid, 1, 'job.enqueued', 1,
            jsonb_build_object(
                'kind', 'order_refund',
                'queue', 'critical',
                'priority', 1,
                'args', args,
                'unique_key', NULL,
                'serial_key', NULL,
                'serial_order', 0,
                'run_at', counterfoil.instant_text(at),
                'max_attempts', NULL,
                'deadline', NULL),
            jsonb_build_object(
                'actor', jsonb_build_object('type', 'shop', 'id', session_user),
                'correlation_id', correlation,
                'commit_id', counterfoil.uuid7()),
            at);
    INSERT INTO counterfoil.jobs
           (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt, parkings,
            serial_order, cancel_requested, correlation_id, args)
    VALUES (job_uuid, tenant, 1, 'waiting', 'order_refund', 'critical', 1, at, 0, 0, 0, false, correlation, args);
    IF coalesce(request->'notify', 'true') <> 'false' THEN
        PERFORM counterfoil.notify_idle(ARRAY['critical']);
    END IF;
    RETURN jsonb_build_object('orderId', asked->'orderId', 'streamId', order_uuid, 'jobId', job_uuid,
                              'replayed', false, 'position', job_at);
END
$$;
