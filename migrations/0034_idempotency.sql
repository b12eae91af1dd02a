-- Requests under a key of their caller's: one effect, and its answer again (I5).
--
-- The row is written in the transaction of what it stands for, so "stored" and "done"
-- cannot disagree. Whoever asks while that transaction runs never waits for it: he is told
-- at once whether it is his own request or another's that holds the key.

CREATE TABLE counterfoil.idempotency_keys (
    tenant_id    text        NOT NULL,
    -- Who asked: keys of others mean nothing to him.
    principal    text        NOT NULL,
    key          text        NOT NULL,
    -- Null in rows that were brought in from elsewhere: they answer nobody.
    request_hash bytea,
    status       smallint    NOT NULL,
    -- What it made or changed, by which it is shown as it is now.
    made_kind    text        NOT NULL,
    made_id      text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT counterfoil.now(),
    expires_at   timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant_id, principal, key),
    CONSTRAINT idempotency_keys_key_visible CHECK (key ~ '^[!-~]{8,128}$'),
    CONSTRAINT idempotency_keys_hash_length CHECK (octet_length(request_hash) = 32),
    CONSTRAINT idempotency_keys_status_success CHECK (status BETWEEN 200 AND 299),
    CONSTRAINT idempotency_keys_expires_later CHECK (expires_at > created_at)
);

-- The one place where a request is hashed, after its defaults are filled in.
CREATE FUNCTION counterfoil.request_hash(request jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
AS $$ SELECT sha256(convert_to(request::text, 'UTF8')) $$;

-- What was answered under a key: `absent`, `repeated` (the stored answer follows) or
-- `reused` (for another request). Whoever holds it now is not looked for.
CREATE FUNCTION counterfoil.find_key(
    tenant text, who text, told_key text, digest bytea,
    OUT verdict text, OUT status smallint, OUT made_kind text, OUT made_id text)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
DECLARE
    stored counterfoil.idempotency_keys;
BEGIN
    -- EXECUTE plans anew: a cached plan that was made while the table was small would
    -- scan it when it is large.
    EXECUTE 'SELECT k.* FROM counterfoil.idempotency_keys k
              WHERE k.tenant_id = $1 AND k.principal = $2 AND k.key = $3
                AND k.expires_at > counterfoil.now()'
       INTO stored USING tenant, who, told_key;
    IF stored.key IS NULL THEN
        verdict := 'absent';
    ELSIF stored.request_hash = digest THEN
        verdict := 'repeated';
        status := stored.status;
        made_kind := stored.made_kind;
        made_id := stored.made_id;
    ELSE
        verdict := 'reused';
    END IF;
END
$$;

-- Take a key until the transaction ends, before any other lock: `first`, or why not:
-- `repeated`, `reused`, or `in_progress`: the same request holds it in a transaction that
-- has not ended. Nobody waits, but who asks to: after a lost answer the backend that still
-- has the key may be one's own.
--
-- Two advisory locks of the bigint space, the upper half of whose lower 32 bits is ours:
-- one of the key alone, which is had by one, and one of key and request, by which others
-- see what the first has asked. That one is taken before, and shared, so it is there when
-- the other is, and no look is in anybody's way.
CREATE FUNCTION counterfoil.take_key(
    tenant text, who text, told_key text, request jsonb, waits boolean,
    OUT verdict text, OUT status smallint, OUT made_kind text, OUT made_id text, OUT digest bytea)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
DECLARE
    mine    CONSTANT bigint := 2147483648;
    -- Lengths first, so that no two keys are spelled the same.
    spelled CONSTANT text := format('%s %s %s%s%s', length(tenant), length(who), tenant, who, told_key);
    whole   bigint;
    exact   bigint;
    is_mine boolean;
    is_same boolean;
BEGIN
    digest := counterfoil.request_hash(request);
    SELECT hashtextextended(spelled, i.lock_space) | mine,
           hashtextextended(spelled || encode(digest, 'hex'), i.lock_space) | mine
      INTO whole, exact
      FROM (SELECT o.* FROM counterfoil.installation o LIMIT 1) i;
    PERFORM pg_try_advisory_xact_lock_shared(exact);
    IF waits THEN
        PERFORM pg_advisory_xact_lock(whole);
    END IF;
    FOR round IN 1 .. 3 LOOP
        is_mine := pg_try_advisory_xact_lock(whole);
        -- A statement of its own, after the lock: who had it before is seen.
        SELECT f.verdict, f.status, f.made_kind, f.made_id INTO verdict, status, made_kind, made_id
          FROM counterfoil.find_key(tenant, who, told_key, digest) f;
        IF verdict <> 'absent' THEN
            RETURN;
        ELSIF is_mine THEN
            verdict := 'first';
            RETURN;
        END IF;
        -- One look at all locks, so that no end comes between the two.
        SELECT bool_or(h.is_same) INTO is_same
          FROM (SELECT bool_or(l.classid::bigint = ((whole >> 32) & 4294967295)
                               AND l.objid::bigint = (whole & 4294967295) AND l.mode = 'ExclusiveLock') AS has_key,
                       bool_or(l.classid::bigint = ((exact >> 32) & 4294967295)
                               AND l.objid::bigint = (exact & 4294967295)) AS is_same
                  FROM pg_locks l
                 WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
                   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                 GROUP BY l.virtualtransaction) h
         WHERE h.has_key;
        IF is_same IS NOT NULL THEN
            verdict := CASE WHEN is_same THEN 'in_progress' ELSE 'reused' END;
            RETURN;
        END IF;
    END LOOP;
    verdict := 'in_progress';
END
$$;

-- Write down what was answered, in the transaction that has taken the key. A row whose
-- time is over counts as absent.
CREATE FUNCTION counterfoil.keep_key(
    tenant text, who text, told_key text, digest bytea, answered integer, kind text, id text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
DECLARE
    at CONSTANT timestamptz := counterfoil.now();
BEGIN
    INSERT INTO counterfoil.idempotency_keys AS k
           (tenant_id, principal, key, request_hash, status, made_kind, made_id, created_at, expires_at)
    VALUES (tenant, who, told_key, digest, answered, kind, id, at, at + interval '30 days')
    ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
       SET request_hash = excluded.request_hash, status = excluded.status, made_kind = excluded.made_kind,
           made_id = excluded.made_id, created_at = excluded.created_at, expires_at = excluded.expires_at
     WHERE k.expires_at <= at;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'serialization_failure: somebody has used the key % meanwhile', told_key
            USING ERRCODE = '40001';
    END IF;
END
$$;

-- Who asks for the births of this transaction: whom the API has let in, with the request
-- that leads to them, or else the role that is connected.
CREATE FUNCTION counterfoil.asked_by(role name) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN coalesce(nullif(current_setting('counterfoil.asked_by', true), '')::jsonb,
                    jsonb_build_object('actor', jsonb_build_object('type', 'shop', 'id', role)));
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

    meta := counterfoil.asked_by(session_user) || jsonb_build_object(
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
                meta || jsonb_build_object(
                    'causation', coalesce(meta->'causation', '{}') || jsonb_build_object('event', order_at)), at);
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
            counterfoil.asked_by(session_user) || jsonb_build_object(
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

-- Ask for one job, in the caller's own transaction.
--
-- While an unfinished job has the unique key, that one is answered, as a duplicate.
-- Errors as those of `settle_order`, and CF429: there is no room. A birth that is due wakes an idle worker, unless
-- `notify` is false; a duplicate, or a job of later, wakes nobody.
CREATE OR REPLACE FUNCTION counterfoil.enqueue(request jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog
AS $$
DECLARE
    at          CONSTANT timestamptz := counterfoil.now();
    job_uuid    CONSTANT uuid := counterfoil.uuid7();
    args        CONSTANT jsonb := coalesce(request->'args', '{}');
    tenant      CONSTANT text := coalesce(request->>'tenant', 'default');
    job_kind    CONSTANT text := request->>'kind';
    queue_name  CONSTANT text := coalesce(request->>'queue', 'default');
    one_key     CONSTANT text := request->>'uniqueKey';
    turn_key    CONSTANT text := request->>'serialKey';
    correlation CONSTANT text := coalesce(request->>'correlationId', 'job:' || job_uuid::text);
    urgency     smallint;
    due         timestamptz;
    at_once     integer;
    attempts    integer;
    last_due    timestamptz;
    live        uuid;
    told_at     bigint;
    refused     text;
BEGIN
    IF counterfoil.is_plain_job(request) IS NOT TRUE THEN
        PERFORM counterfoil.check_job(request, '');
    END IF;
    urgency := coalesce(request->>'priority', '1');
    -- Never before now, or a bounded claim would not see it (mechanisms 17).
    due := greatest((request->>'runAt')::timestamptz, at);
    at_once := coalesce(request->>'concurrencyLimit', '1');
    attempts := request->>'maxAttempts';
    last_due := request->>'deadline';

    refused := counterfoil.room_for(tenant, 1, 1);
    FOR round IN 1 .. 5 LOOP
        IF refused IS NOT NULL THEN
            IF one_key IS NULL THEN
                PERFORM counterfoil.refuse_pending(tenant, refused);
            END IF;
        ELSIF one_key IS NULL THEN
            INSERT INTO counterfoil.jobs
                   (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt, parkings, max_attempts,
                    serial_key, serial_order, concurrency_limit, deadline, cancel_requested, correlation_id, args)
            VALUES (job_uuid, tenant, 1, 'waiting', job_kind, queue_name, urgency, due, 0, 0, attempts,
                    turn_key, 0, at_once, last_due, false, correlation, args);
        ELSE
            INSERT INTO counterfoil.jobs
                   (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt, parkings, max_attempts,
                    unique_key, serial_key, serial_order, concurrency_limit, deadline, cancel_requested, correlation_id, args)
            VALUES (job_uuid, tenant, 1, 'waiting', job_kind, queue_name, urgency, due, 0, 0, attempts,
                    one_key, turn_key, 0, at_once, last_due, false, correlation, args)
            ON CONFLICT (tenant_id, unique_key) WHERE unique_key IS NOT NULL DO NOTHING;
        END IF;
        EXIT WHEN FOUND AND refused IS NULL;
        -- Planned anew, as above. The position only says how far a reader has to be:
        -- nothing is decided from it.
        EXECUTE 'SELECT j.stream_id,
                        (SELECT e.position FROM counterfoil.events e
                          WHERE e.stream_id = j.stream_id AND e.version = 1)
                   FROM counterfoil.jobs j
                  WHERE j.tenant_id = $1 AND j.unique_key = $2'
           INTO live, told_at USING tenant, one_key;
        IF live IS NOT NULL THEN
            IF refused IS NULL THEN
                PERFORM counterfoil.give_room_back(tenant, 1);
            END IF;
            RETURN jsonb_build_object('jobId', live, 'duplicate', true, 'position', told_at);
        ELSIF refused IS NOT NULL THEN
            PERFORM counterfoil.refuse_pending(tenant, refused);
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
                'deadline', counterfoil.instant_text(last_due))
            || CASE WHEN at_once = 1 THEN '{}' ELSE jsonb_build_object('concurrency_limit', at_once) END,
            counterfoil.asked_by(session_user) || jsonb_build_object(
                'correlation_id', correlation,
                'commit_id', counterfoil.uuid7()),
            at)
    RETURNING position INTO told_at;
    IF due = at AND request->'notify' IS DISTINCT FROM 'false' THEN
        PERFORM counterfoil.notify_idle(ARRAY[queue_name]);
    END IF;
    RETURN jsonb_build_object('jobId', job_uuid, 'duplicate', false, 'position', told_at);
END
$$;
