-- Goods at the front door: lines of goods in an order that is paid.
--
-- An order has at most one line of access and any number of goods. Which products exist,
-- and for whom, is their provider's business: money taken is never turned away for it.

-- An order with goods is over when all of it is, and only a job of its own can see that.
ALTER TABLE counterfoil.orders ADD COLUMN has_goods boolean NOT NULL DEFAULT false;

-- A refund is the one way out of fulfilled, and changes nothing else (I6).
DROP TRIGGER orders_final ON counterfoil.orders;
CREATE TRIGGER orders_final BEFORE UPDATE ON counterfoil.orders
    FOR EACH ROW WHEN (
        OLD.state = 'refunded'
        OR (OLD.state = 'fulfilled'
            AND (NEW.state <> 'refunded'
                 OR (NEW.tenant_id, NEW.order_id, NEW.customer_id, NEW.slot, NEW.kind, NEW.currency, NEW.amount_minor,
                     NEW.discount_minor, NEW.fulfilled_by, NEW.correlation_id, NEW.has_goods)
                    IS DISTINCT FROM
                    (OLD.tenant_id, OLD.order_id, OLD.customer_id, OLD.slot, OLD.kind, OLD.currency, OLD.amount_minor,
                     OLD.discount_minor, OLD.fulfilled_by, OLD.correlation_id, OLD.has_goods))))
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();

-- What one piece is: a kind, and how much of it or for how long.
CREATE FUNCTION counterfoil.accepted_product(product jsonb, path text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    accepted jsonb;
BEGIN
    IF product IS NULL THEN
        PERFORM counterfoil.refuse_request('missing_member', path, 'is required');
    ELSIF jsonb_typeof(product) <> 'object' THEN
        PERFORM counterfoil.refuse_request('invalid_member', path, 'an object');
    END IF;
    PERFORM counterfoil.refuse_unknown_members(product, path || '.', ARRAY['kind', 'quantity', 'months']);
    accepted := jsonb_build_object('kind', counterfoil.read_text(product->'kind', path || '.kind', 64));
    -- What was not given is not told again.
    IF coalesce(product->'quantity', 'null') <> 'null' THEN
        accepted := accepted || jsonb_build_object('quantity', counterfoil.read_integer(
            product->'quantity', path || '.quantity', 1, 2147483647));
    END IF;
    IF coalesce(product->'months', 'null') <> 'null' THEN
        accepted := accepted || jsonb_build_object('months', counterfoil.read_integer(
            product->'months', path || '.months', 1, 1200));
    END IF;
    RETURN accepted;
END
$$;

-- One line of goods with its defaults filled in. Costs and prices are of one piece, and
-- so bounded that those of all pieces fit a bigint.
CREATE FUNCTION counterfoil.accepted_goods_line(line jsonb, path text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    told     integer;
    provider text;
    product  jsonb;
BEGIN
    PERFORM counterfoil.refuse_unknown_members(line, path || '.', ARRAY[
        'line', 'type', 'provider', 'product', 'recipient', 'quantity', 'costMinor', 'priceMinor']);
    told := counterfoil.read_integer(line->'line', path || '.line', 1, 32767);
    provider := counterfoil.read_text(line->'provider', path || '.provider', 32);
    IF provider !~ '^[a-z][a-z0-9_-]{1,31}$' THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', path || '.provider', 'a letter a-z, then 1 to 31 of a-z, 0-9, _ and -');
    END IF;
    product := counterfoil.accepted_product(line->'product', path || '.product');
    RETURN jsonb_build_object(
        'line', told,
        'type', 'goods',
        'provider', provider,
        'product', product,
        'recipient', counterfoil.read_text(line->'recipient', path || '.recipient', 128),
        'quantity', counterfoil.read_integer(coalesce(line->'quantity', '1'), path || '.quantity', 1, 1000000),
        'costMinor', counterfoil.read_integer(line->'costMinor', path || '.costMinor', 0, 1000000000000),
        'priceMinor', counterfoil.read_integer(line->'priceMinor', path || '.priceMinor', 0, 1000000000000));
END
$$;

-- The lines of an order that owes something: at most one of access, and goods. What an
-- add-on does, and a renewal, an extension, an upgrade and a downgrade, is about access.
CREATE OR REPLACE FUNCTION counterfoil.accepted_lines(lines jsonb, kind text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    accepted   jsonb := '[]';
    numbers    jsonb := '[]';
    has_access boolean := false;
    line       jsonb;
    path       text;
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
                IF has_access THEN
                    PERFORM counterfoil.refuse_request(
                        'invalid_member', path || '.type', 'an order has at most one access line');
                END IF;
                has_access := true;
                IF kind = 'addon' THEN
                    line := counterfoil.accepted_addon_line(lines->i, path);
                ELSE
                    line := counterfoil.accepted_line(lines->i, path, kind IN ('renewal', 'extension', 'upgrade'));
                END IF;
            WHEN 'goods' THEN
                IF kind = 'addon' THEN
                    PERFORM counterfoil.refuse_request(
                        'goods_in_addon', path || '.type',
                        'an add-on changes access; goods are for an order of another kind');
                END IF;
                line := counterfoil.accepted_goods_line(lines->i, path);
            ELSE
                PERFORM counterfoil.refuse_request('invalid_member', path || '.type', 'access or goods');
        END CASE;
        IF numbers @> (line->'line') THEN
            PERFORM counterfoil.refuse_request('invalid_member', path || '.line', 'the same line a second time');
        END IF;
        numbers := numbers || (line->'line');
        accepted := accepted || jsonb_build_array(line);
    END LOOP;
    IF NOT has_access AND kind <> 'purchase' THEN
        PERFORM counterfoil.refuse_request(
            'missing_member', 'lines', format('an order of kind %s has an access line', kind));
    END IF;
    RETURN accepted;
END
$$;

-- A line as events store it: the same members, under the stored names.
CREATE OR REPLACE FUNCTION counterfoil.stored_line(line jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_object_agg(
               CASE m.key WHEN 'endsAt' THEN 'ends_at'
                             WHEN 'graceSeconds' THEN 'grace_seconds'
                             WHEN 'trafficBytes' THEN 'traffic_bytes'
                             WHEN 'deviceLimit' THEN 'device_limit'
                             WHEN 'squadIds' THEN 'squad_ids'
                             WHEN 'resetTraffic' THEN 'reset_traffic'
                             WHEN 'costMinor' THEN 'cost_minor'
                             WHEN 'priceMinor' THEN 'price_minor'
                             ELSE m.key END,
               m.value)
      FROM jsonb_each(line) m
);

-- All lines as events store them, in the order in which they were told.
CREATE FUNCTION counterfoil.stored_lines(lines jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_agg(counterfoil.stored_line(l.line) ORDER BY l.n)
      FROM jsonb_array_elements(lines) WITH ORDINALITY AS l(line, n)
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
    has_goods   CONSTANT boolean := asked->'lines' @> '[{"type": "goods"}]';
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
            'lines', counterfoil.stored_lines(asked->'lines'));
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
            amount_minor, discount_minor, has_goods, correlation_id)
    VALUES (order_uuid, tenant, 1, state, asked->>'orderId', asked->>'customerId', (asked->'slot')::integer,
            asked->>'kind', asked->>'currency', (asked->'amountMinor')::bigint, (asked->'discountMinor')::bigint,
            has_goods, correlation);
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

-- A job of a kind that nobody runs would hold up goods as it would access.
CREATE OR REPLACE FUNCTION counterfoil.check_job(asked jsonb, path text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    dot       CONSTANT text := CASE path WHEN '' THEN '' ELSE path || '.' END;
    args      CONSTANT jsonb := coalesce(asked->'args', '{}');
    told_args integer;
BEGIN
    IF jsonb_typeof(asked) IS DISTINCT FROM 'object' THEN
        PERFORM counterfoil.refuse_request('invalid_member', path, 'the request is an object');
    END IF;
    PERFORM counterfoil.refuse_unknown_members(asked, dot, ARRAY[
        'kind', 'args', 'tenant', 'queue', 'priority', 'runAt', 'uniqueKey', 'serialKey',
        'concurrencyLimit', 'maxAttempts', 'deadline', 'correlationId', 'notify']);
    PERFORM counterfoil.read_name(asked->'kind', dot || 'kind');
    told_args := octet_length(args::text);
    IF jsonb_typeof(args) <> 'object' OR told_args > 262144 THEN
        PERFORM counterfoil.refuse_request('invalid_member', dot || 'args', 'an object of at most 256 KiB');
    -- What no reader of the log could decode would stand in everybody's way. Shorter
    -- arguments than these are neither so deep nor so large.
    ELSIF told_args > 120 AND (
        jsonb_path_exists(args, 'strict $.**{64}')
        OR jsonb_path_exists(args, 'strict $.** ? (@.type() == "number" && (@ >= 1e300 || @ <= -1e300))')) THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', dot || 'args', 'nested at most 64 deep, numbers of at most 300 digits');
    END IF;
    PERFORM counterfoil.read_text(coalesce(asked->'tenant', '"default"'), dot || 'tenant', 64);
    PERFORM counterfoil.read_name(coalesce(asked->'queue', '"default"'), dot || 'queue');
    PERFORM counterfoil.read_integer(coalesce(asked->'priority', '1'), dot || 'priority', 1, 4);
    PERFORM counterfoil.read_instant(asked->'runAt', dot || 'runAt');
    IF coalesce(asked->'uniqueKey', 'null') <> 'null' THEN
        PERFORM counterfoil.read_text(asked->'uniqueKey', dot || 'uniqueKey', 255);
    END IF;
    -- A job of a kind that nobody runs would hold up what was paid for.
    IF coalesce(asked->'serialKey', 'null') <> 'null'
       AND counterfoil.read_text(asked->'serialKey', dot || 'serialKey', 255) ~ '^(fanout|entitlement|goods):' THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', dot || 'serialKey', 'keys that begin with fanout:, entitlement: or goods: are kept for orders');
    END IF;
    IF coalesce(asked->'concurrencyLimit', 'null') <> 'null' THEN
        PERFORM counterfoil.read_integer(asked->'concurrencyLimit', dot || 'concurrencyLimit', 1, 1000);
        IF coalesce(asked->'serialKey', 'null') = 'null' THEN
            PERFORM counterfoil.refuse_request(
                'invalid_member', dot || 'concurrencyLimit', 'how many jobs of one serialKey may run at once: name that too');
        END IF;
    END IF;
    IF coalesce(asked->'maxAttempts', 'null') <> 'null' THEN
        PERFORM counterfoil.read_integer(asked->'maxAttempts', dot || 'maxAttempts', 1, 1000);
    END IF;
    PERFORM counterfoil.read_instant(asked->'deadline', dot || 'deadline');
    IF coalesce(asked->'correlationId', 'null') <> 'null' THEN
        PERFORM counterfoil.read_text(asked->'correlationId', dot || 'correlationId', 128);
    END IF;
    PERFORM counterfoil.read_flag(coalesce(asked->'notify', 'true'), dot || 'notify');
END
$$;

-- True for a request that is right beyond doubt; false or null asks for check_job.
CREATE OR REPLACE FUNCTION counterfoil.is_plain_job(asked jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT jsonb_typeof(asked) = 'object'
       AND jsonb_typeof(asked->'kind') = 'string'
       AND length(asked->>'kind') <= 127
       AND asked->>'kind' ~ '^[a-z][a-z0-9_.-]*$'
       AND (asked->'args' IS NULL
            OR jsonb_typeof(asked->'args') = 'object'
               AND NOT jsonb_path_exists(asked->'args', 'strict $.**{64}')
               -- A number of 300 digits is that long in the text too.
               AND (octet_length((asked->'args')::text) <= 300
                    OR octet_length((asked->'args')::text) <= 262144
                       AND NOT jsonb_path_exists(asked->'args',
                           'strict $.** ? (@.type() == "number" && (@ >= 1e300 || @ <= -1e300))')))
       AND (asked - '{kind,args}'::text[] = '{}'
            OR asked - '{kind,args,tenant,queue,priority,runAt,uniqueKey,serialKey,concurrencyLimit,maxAttempts,deadline,correlationId,notify}'::text[] = '{}'
               AND (asked->'tenant' IS NULL OR counterfoil.is_plain_text(asked->'tenant', 64))
               AND (asked->'queue' IS NULL
                    OR jsonb_typeof(asked->'queue') = 'string'
                       AND length(asked->>'queue') <= 127
                       AND asked->>'queue' ~ '^[a-z][a-z0-9_.-]*$')
               AND (asked->'priority' IS NULL
                    OR jsonb_typeof(asked->'priority') = 'number'
                       AND asked->>'priority' IN ('1', '2', '3', '4'))
               AND (asked->>'runAt' IS NULL OR counterfoil.is_plain_instant(asked->'runAt'))
               AND (asked->>'uniqueKey' IS NULL OR counterfoil.is_plain_text(asked->'uniqueKey', 255))
               AND (asked->>'serialKey' IS NULL
                    OR counterfoil.is_plain_text(asked->'serialKey', 255)
                       AND asked->>'serialKey' !~ '^(fanout|entitlement|goods):')
               AND (asked->>'concurrencyLimit' IS NULL
                    OR jsonb_typeof(asked->'concurrencyLimit') = 'number'
                       AND asked->>'concurrencyLimit' ~ '^[1-9][0-9]{0,2}$'
                       AND asked->>'serialKey' IS NOT NULL)
               AND (asked->>'maxAttempts' IS NULL
                    OR jsonb_typeof(asked->'maxAttempts') = 'number'
                       AND asked->>'maxAttempts' ~ '^[1-9][0-9]{0,2}$')
               AND (asked->>'deadline' IS NULL OR counterfoil.is_plain_instant(asked->'deadline'))
               AND (asked->>'correlationId' IS NULL OR counterfoil.is_plain_text(asked->'correlationId', 128))
               AND (asked->'notify' IS NULL OR jsonb_typeof(asked->'notify') = 'boolean'))
$$;
