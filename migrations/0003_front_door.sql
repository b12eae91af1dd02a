-- The front door: a shop's own transaction gives birth to orders and jobs.
--
-- Everything here only inserts rows that nobody else can be waiting for (mechanisms
-- 13): no UPDATE, no FOR UPDATE, no read of another stream beside the key rows. So a
-- caller may idle in his transaction for as long as he likes.
--
-- The rules of a request are told twice, here and in domain/order/parse.py; a property
-- test holds the two together, and the rows to what the deciders return. Functions run
-- with the caller's rights. Only the three doors set a search_path: it costs what three
-- checks of a member cost, and the readers are called by them alone.

CREATE FUNCTION counterfoil.refuse_request(code text, path text, rule text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RAISE EXCEPTION '%: %', code, CASE path WHEN '' THEN rule ELSE path || ': ' || rule END
        USING ERRCODE = 'CF400', DETAIL = path;
END
$$;

CREATE FUNCTION counterfoil.refuse_unknown_members(asked jsonb, path text, known text[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF asked - known <> '{}' THEN
        PERFORM counterfoil.refuse_request(
            'unknown_member',
            path || (SELECT left(min(k COLLATE "C"), 128) FROM jsonb_object_keys(asked - known) k),
            'there is no such member');
    END IF;
END
$$;

-- Readers return a member's value, or refuse it with its path. A missing member is an
-- SQL null; whoever has a default puts it in before.

CREATE FUNCTION counterfoil.read_integer(member jsonb, path text, low bigint, high bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF member IS NULL THEN
        PERFORM counterfoil.refuse_request('missing_member', path, 'is required');
    END IF;
    -- scale 1 is the 1.0 that a program wrote which keeps money in floats.
    IF jsonb_typeof(member) <> 'number' OR scale(member::numeric) > 0
       OR member::numeric NOT BETWEEN low AND high THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', path, format('an integer from %s to %s', low, high));
    END IF;
    RETURN member::bigint;
END
$$;

-- Text of visible characters: no spaces, controls or marks that do not show, because
-- two ids that look the same must be the same.
CREATE FUNCTION counterfoil.read_text(member jsonb, path text, longest integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    told text := member #>> '{}';
BEGIN
    IF member IS NULL THEN
        PERFORM counterfoil.refuse_request('missing_member', path, 'is required');
    END IF;
    IF jsonb_typeof(member) <> 'string' OR length(told) NOT BETWEEN 1 AND longest
       OR told ~ '[\u0001-\u0020\u007F-\u00A0\u00AD\u061C\u1680\u180E\u2000-\u200F\u2028-\u202F\u205F-\u206F\u3000\uFEFF\uFFF9-\uFFFB\U000E0000-\U000E007F]' THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', path, format('text of 1 to %s visible characters', longest));
    END IF;
    RETURN told;
END
$$;

-- One of our own names, as kinds and queues have.
CREATE FUNCTION counterfoil.read_name(member jsonb, path text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    told text := member #>> '{}';
BEGIN
    IF member IS NULL THEN
        PERFORM counterfoil.refuse_request('missing_member', path, 'is required');
    END IF;
    IF jsonb_typeof(member) <> 'string' OR told !~ '^[a-z][a-z0-9_.-]{0,126}$' THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', path,
            'a letter a-z, then letters, digits, "_", "." and "-", at most 127 in all');
    END IF;
    RETURN told;
END
$$;

CREATE FUNCTION counterfoil.read_flag(member jsonb, path text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF jsonb_typeof(member) <> 'boolean' THEN
        PERFORM counterfoil.refuse_request('invalid_member', path, 'true or false');
    END IF;
    RETURN member::boolean;
END
$$;

-- An instant that names its offset, of at most six fractional digits; null stays null.
CREATE FUNCTION counterfoil.read_instant(member jsonb, path text) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    told  text := member #>> '{}';
    parts text[];
BEGIN
    IF coalesce(member, 'null') = 'null' THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(member) = 'string' THEN
        parts := regexp_match(told,
            '^([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
            'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?'
            '(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])$');
        -- The year first: a cast would fail on a 30th of February, in other words.
        IF parts[1]::integer >= 1999 THEN
            IF parts[3]::integer <= extract(day FROM make_date(parts[1]::integer, parts[2]::integer, 1)
                                                     + interval '1 month - 1 day')
               AND told::timestamptz BETWEEN '2000-01-01T00:00:00Z'::timestamptz
                                         AND '9999-01-01T00:00:00Z'::timestamptz THEN
                RETURN told::timestamptz;
            END IF;
        END IF;
    END IF;
    PERFORM counterfoil.refuse_request(
        'invalid_member', path, 'an instant with its offset, such as 2030-01-31T12:00:00Z, from 2000 to 9999');
END
$$;

CREATE FUNCTION counterfoil.read_squads(member jsonb, path text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    squads jsonb := lower(member::text)::jsonb;
BEGIN
    IF jsonb_typeof(member) <> 'array' OR jsonb_array_length(member) > 100 THEN
        PERFORM counterfoil.refuse_request('invalid_member', path, 'a list of at most 100 UUIDs');
    END IF;
    FOR i IN 0 .. jsonb_array_length(squads) - 1 LOOP
        -- Version and variant are checked by the panel too (remnawave.md).
        IF jsonb_typeof(squads->i) <> 'string'
           OR squads->>i !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' THEN
            PERFORM counterfoil.refuse_request(
                'invalid_member', format('%s[%s]', path, i), 'a UUID of RFC 9562');
        END IF;
        FOR j IN 0 .. i - 1 LOOP
            IF squads->j = squads->i THEN
                PERFORM counterfoil.refuse_request(
                    'invalid_member', format('%s[%s]', path, i), 'the same squad a second time');
            END IF;
        END LOOP;
    END LOOP;
    RETURN squads;
END
$$;

-- One access line with its defaults filled in; `resets` is the default of the kind.
CREATE FUNCTION counterfoil.accepted_line(line jsonb, path text, resets boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    days    bigint;
    ends_at timestamptz;
    devices bigint;
    traffic bigint;
    told    integer;
BEGIN
    PERFORM counterfoil.refuse_unknown_members(line, path || '.', ARRAY[
        'line', 'type', 'days', 'endsAt', 'graceSeconds', 'trafficBytes', 'deviceLimit', 'squadIds', 'resetTraffic']);
    told := counterfoil.read_integer(line->'line', path || '.line', 1, 32767);
    IF coalesce(line->'days', 'null') <> 'null' THEN
        days := counterfoil.read_integer(line->'days', path || '.days', 1, 36500);
    END IF;
    ends_at := counterfoil.read_instant(line->'endsAt', path || '.endsAt');
    IF days IS NULL AND ends_at IS NULL THEN
        PERFORM counterfoil.refuse_request('missing_member', path || '.days', 'days or endsAt is required');
    ELSIF days IS NOT NULL AND ends_at IS NOT NULL THEN
        PERFORM counterfoil.refuse_request('invalid_member', path || '.endsAt', 'either days or endsAt, not both');
    END IF;
    IF coalesce(line->'trafficBytes', 'null') <> 'null' THEN
        traffic := counterfoil.read_integer(line->'trafficBytes', path || '.trafficBytes', 0, 9007199254740991);
    END IF;
    IF coalesce(line->'deviceLimit', 'null') <> 'null' THEN
        devices := counterfoil.read_integer(line->'deviceLimit', path || '.deviceLimit', 1, 2147483647);
    END IF;
    RETURN jsonb_build_object(
        'line', told,
        'type', 'access',
        'days', days,
        'endsAt', counterfoil.instant_text(ends_at),
        'graceSeconds', counterfoil.read_integer(
            coalesce(line->'graceSeconds', '0'), path || '.graceSeconds', 0, 31536000),
        'trafficBytes', traffic,
        'deviceLimit', devices,
        'squadIds', counterfoil.read_squads(coalesce(line->'squadIds', '[]'), path || '.squadIds'),
        'resetTraffic', counterfoil.read_flag(
            coalesce(line->'resetTraffic', to_jsonb(resets)), path || '.resetTraffic'));
END
$$;

-- The lines of an order that owes something: exactly one, of access, until goods exist.
CREATE FUNCTION counterfoil.accepted_lines(lines jsonb, resets boolean) RETURNS jsonb
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
                END IF;
                accepted := counterfoil.accepted_line(lines->i, path, resets);
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
CREATE FUNCTION counterfoil.accepted_settlement(asked jsonb, at timestamptz) RETURNS jsonb
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
        'effectiveAt', 'correlationId', 'lines']);
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
CREATE FUNCTION counterfoil.settle_order(request jsonb) RETURNS jsonb
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

    RETURN jsonb_build_object('orderId', asked->'orderId', 'streamId', order_uuid, 'jobId', job_uuid,
                              'replayed', false, 'position', coalesce(job_at, order_at));
END
$$;

-- Ask for one job, in the caller's own transaction.
--
-- While an unfinished job has the unique key, that one is answered, as a duplicate.
-- Errors as those of `settle_order`. `notify` is read and not needed: workers poll.
CREATE FUNCTION counterfoil.enqueue(request jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
DECLARE
    at          CONSTANT timestamptz := counterfoil.now();
    job_uuid    CONSTANT uuid := counterfoil.uuid7();
    args        CONSTANT jsonb := coalesce(request->'args', '{}');
    told_args   integer;
    tenant      text;
    job_kind    text;
    queue_name  text;
    urgency     bigint;
    due         timestamptz;
    one_key     text;
    turn_key    text;
    attempts    bigint;
    last_due    timestamptz;
    correlation text;
    live        uuid;
    told_at     bigint;
BEGIN
    IF jsonb_typeof(request) IS DISTINCT FROM 'object' THEN
        PERFORM counterfoil.refuse_request('invalid_member', '', 'the request is an object');
    END IF;
    PERFORM counterfoil.refuse_unknown_members(request, '', ARRAY[
        'kind', 'args', 'tenant', 'queue', 'priority', 'runAt', 'uniqueKey', 'serialKey', 'maxAttempts',
        'deadline', 'correlationId', 'notify']);
    job_kind := counterfoil.read_name(request->'kind', 'kind');
    told_args := octet_length(args::text);
    IF jsonb_typeof(args) <> 'object' OR told_args > 262144 THEN
        PERFORM counterfoil.refuse_request('invalid_member', 'args', 'an object of at most 256 KiB');
    -- What no reader of the log could decode would stand in everybody's way. Shorter
    -- arguments than these are neither so deep nor so large.
    ELSIF told_args > 120 AND (
        jsonb_path_exists(args, 'strict $.**{64}')
        OR jsonb_path_exists(args, 'strict $.** ? (@.type() == "number" && (@ >= 1e300 || @ <= -1e300))')) THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', 'args', 'nested at most 64 deep, numbers of at most 300 digits');
    END IF;
    tenant := counterfoil.read_text(coalesce(request->'tenant', '"default"'), 'tenant', 64);
    queue_name := counterfoil.read_name(coalesce(request->'queue', '"default"'), 'queue');
    urgency := counterfoil.read_integer(coalesce(request->'priority', '1'), 'priority', 1, 4);
    -- Never before now, or a bounded claim would not see it (mechanisms 17).
    due := greatest(counterfoil.read_instant(request->'runAt', 'runAt'), at);
    IF coalesce(request->'uniqueKey', 'null') <> 'null' THEN
        one_key := counterfoil.read_text(request->'uniqueKey', 'uniqueKey', 255);
    END IF;
    IF coalesce(request->'serialKey', 'null') <> 'null' THEN
        turn_key := counterfoil.read_text(request->'serialKey', 'serialKey', 255);
        -- A job of a kind that nobody runs would hold up what was paid for.
        IF turn_key ~ '^(fanout|entitlement):' THEN
            PERFORM counterfoil.refuse_request(
                'invalid_member', 'serialKey', 'keys that begin with fanout: or entitlement: are kept for orders');
        END IF;
    END IF;
    IF coalesce(request->'maxAttempts', 'null') <> 'null' THEN
        attempts := counterfoil.read_integer(request->'maxAttempts', 'maxAttempts', 1, 1000);
    END IF;
    last_due := counterfoil.read_instant(request->'deadline', 'deadline');
    IF coalesce(request->'correlationId', 'null') <> 'null' THEN
        correlation := counterfoil.read_text(request->'correlationId', 'correlationId', 128);
    ELSE
        correlation := 'job:' || job_uuid::text;
    END IF;
    PERFORM counterfoil.read_flag(coalesce(request->'notify', 'true'), 'notify');

    FOR round IN 1 .. 5 LOOP
        INSERT INTO counterfoil.jobs
               (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt, parkings, max_attempts,
                unique_key, serial_key, serial_order, deadline, cancel_requested, correlation_id, args)
        VALUES (job_uuid, tenant, 1, 'waiting', job_kind, queue_name, urgency, due, 0, 0, attempts,
                one_key, turn_key, 0, last_due, false, correlation, args)
        ON CONFLICT (tenant_id, unique_key) DO NOTHING;
        EXIT WHEN FOUND;
        -- Planned anew, as above. The position only says how far a reader has to be:
        -- nothing is decided from it.
        EXECUTE 'SELECT j.stream_id,
                        (SELECT e.position FROM counterfoil.events e
                          WHERE e.stream_id = j.stream_id AND e.version = 1)
                   FROM counterfoil.jobs j
                  WHERE j.tenant_id = $1 AND j.unique_key = $2'
           INTO live, told_at USING tenant, one_key;
        IF live IS NOT NULL THEN
            RETURN jsonb_build_object('jobId', live, 'duplicate', true, 'position', told_at);
        ELSIF round = 5 THEN
            RAISE EXCEPTION 'serialization_failure: jobs with the key % come and go', one_key
                USING ERRCODE = '40001';
        END IF;
    END LOOP;

    INSERT INTO counterfoil.events (tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
    VALUES (tenant, job_uuid, 1, 'job.enqueued', 1,
            jsonb_build_object(
                'kind', job_kind,
                'queue', queue_name,
                'priority', urgency,
                'args', args,
                'unique_key', one_key,
                'serial_key', turn_key,
                'serial_order', 0,
                'run_at', counterfoil.instant_text(due),
                'max_attempts', attempts,
                'deadline', counterfoil.instant_text(last_due)),
            jsonb_build_object(
                'actor', jsonb_build_object('type', 'shop', 'id', session_user),
                'correlation_id', correlation,
                'commit_id', counterfoil.uuid7()),
            at)
    RETURNING position INTO told_at;
    RETURN jsonb_build_object('jobId', job_uuid, 'duplicate', false, 'position', told_at);
END
$$;

-- Refunds come with their own issue; until then nobody is told that one was taken.
CREATE FUNCTION counterfoil.refund_order(request jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
BEGIN
    PERFORM counterfoil.refuse_request('not_supported_yet', '', 'orders are not refunded yet');
END
$$;
