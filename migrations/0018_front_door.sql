-- The front door for jobs: how many of a key run at once, room before a birth, and lines.

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
       AND counterfoil.read_text(asked->'serialKey', dot || 'serialKey', 255) ~ '^(fanout|entitlement):' THEN
        PERFORM counterfoil.refuse_request(
            'invalid_member', dot || 'serialKey', 'keys that begin with fanout: or entitlement: are kept for orders');
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
                       AND asked->>'serialKey' !~ '^(fanout|entitlement):')
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

DROP FUNCTION counterfoil.jobs_asked(jsonb[], uuid[], timestamptz);
-- What checked requests ask for, with every default filled in.
CREATE FUNCTION counterfoil.jobs_asked(requests jsonb[], ids uuid[], at timestamptz)
RETURNS TABLE (n bigint, id uuid, tenant text, kind text, queue text, priority smallint, run_at timestamptz,
               unique_key text, serial_key text, concurrency_limit integer, max_attempts integer, deadline timestamptz,
               correlation text, args jsonb, notifies boolean)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT t.n, t.id,
           coalesce(t.asked->>'tenant', 'default'),
           t.asked->>'kind',
           coalesce(t.asked->>'queue', 'default'),
           coalesce((t.asked->>'priority')::smallint, 1::smallint),
           -- Never before now, or a bounded claim would not see it (mechanisms 17); and
           -- a microsecond apart, so that the first in is the first out.
           greatest((t.asked->>'runAt')::timestamptz, at + (t.n - 1) * interval '1 microsecond'),
           t.asked->>'uniqueKey',
           t.asked->>'serialKey',
           coalesce((t.asked->>'concurrencyLimit')::integer, 1),
           (t.asked->>'maxAttempts')::integer,
           (t.asked->>'deadline')::timestamptz,
           coalesce(t.asked->>'correlationId', 'job:' || t.id::text),
           coalesce(t.asked->'args', '{}'),
           coalesce((t.asked->'notify')::boolean, true)
      FROM unnest(requests, ids) WITH ORDINALITY AS t(asked, id, n)
$$;

-- How many of the requests of a tenant, of all when it is null, would bear a job now:
-- none does so whose key an unfinished job has, or an earlier request of the same call.
CREATE FUNCTION counterfoil.jobs_to_bear(requests jsonb[], tenant text) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    many integer;
BEGIN
    -- Planned anew, as enqueue_many has it.
    EXECUTE '
        SELECT count(*) FILTER (WHERE a.key IS NULL)
               + count(DISTINCT (a.tenant, a.key)) FILTER (WHERE a.key IS NOT NULL AND NOT EXISTS (
                     SELECT FROM counterfoil.jobs j WHERE j.tenant_id = a.tenant AND j.unique_key = a.key))
          FROM (SELECT r->>''uniqueKey'' AS key, coalesce(r->>''tenant'', ''default'') AS tenant
                  FROM unnest($1) AS r
                 WHERE $2 IS NULL OR coalesce(r->>''tenant'', ''default'') = $2) a'
       INTO many USING requests, tenant;
    RETURN many;
END
$$;

-- Ask for many jobs, in the caller's own transaction: all of them, or none.
--
-- Answers and rows are those of `enqueue` for each request in order, a microsecond
-- apart. `index` counts from 0, as the paths of refusals do: [3].runAt. Without room for
-- all of them none is born (CF429).
CREATE OR REPLACE FUNCTION counterfoil.enqueue_many(requests jsonb[])
RETURNS TABLE (index integer, job_id uuid, duplicate boolean, "position" bigint)
LANGUAGE plpgsql VOLATILE ROWS 1000
SET search_path = pg_catalog
AS $$
#variable_conflict use_column
DECLARE
    at        CONSTANT timestamptz := counterfoil.now();
    asked     CONSTANT integer := cardinality(requests);
    plain     boolean;
    request   jsonb;
    told      integer := 0;
    -- How many jobs the whole call bears, at most.
    births    integer := asked;
    -- By request: the job that it bears; that while its key is not settled; the job
    -- that has its key instead, and where that one is in the log.
    ids       uuid[];
    open_ids  uuid[];
    held      uuid[];
    held_at   bigint[];
    n_open    bigint;
    n_made    bigint;
    meta      jsonb;
    born      uuid[];
    born_at   bigint[];
    -- Tenants and queues whose jobs of this call are born in line.
    crowded   jsonb;
    room      record;
    -- By tenant: for how many there is room.
    kept      jsonb := '{}';
    refused   text;
BEGIN
    IF asked IS NULL OR asked > 10000 THEN
        PERFORM counterfoil.refuse_request('invalid_member', '', 'a list of at most 10000 requests');
    ELSIF asked = 0 THEN
        RETURN;
    END IF;
    SELECT bool_and(coalesce(counterfoil.is_plain_job(r), false)), count(r->>'uniqueKey')
      INTO plain, n_open
      FROM unnest(requests) AS r;
    IF NOT plain THEN
        FOREACH request IN ARRAY requests LOOP
            IF counterfoil.is_plain_job(request) IS NOT TRUE THEN
                PERFORM counterfoil.check_job(request, format('[%s]', told));
            END IF;
            told := told + 1;
        END LOOP;
    END IF;
    ids := counterfoil.uuid7s(asked);
    -- All of a tenant's, so that they keep their order.
    SELECT jsonb_object_agg(c.tenant || ' ' || c.queue, true) INTO crowded
      FROM (SELECT coalesce(r->>'tenant', 'default') AS tenant, coalesce(r->>'queue', 'default') AS queue, count(*) AS n
              FROM unnest(requests) AS r
             GROUP BY 1, 2) c
     WHERE c.n > 32 OR counterfoil.is_crowded(c.tenant, c.queue, c.n::integer);
    -- In the order of the tenants, so that two calls cannot refuse each other.
    FOR room IN
        SELECT coalesce(r->>'tenant', 'default') AS tenant, count(*)::integer AS jobs
          FROM unnest(requests) AS r GROUP BY 1 ORDER BY (min(coalesce(r->>'tenant', 'default'))) COLLATE "C"
    LOOP
        refused := counterfoil.room_for(room.tenant, room.jobs, births);
        IF refused IS NOT NULL THEN
            -- What is there already needs no room.
            IF births = asked THEN
                births := counterfoil.jobs_to_bear(requests, NULL);
            END IF;
            told := counterfoil.jobs_to_bear(requests, room.tenant);
            IF births < asked THEN
                refused := CASE WHEN told > 0 THEN counterfoil.room_for(room.tenant, told, births) END;
                room.jobs := told;
            END IF;
            IF refused IS NOT NULL THEN
                PERFORM counterfoil.refuse_pending(room.tenant, refused);
            END IF;
        END IF;
        kept := kept || jsonb_build_object(room.tenant, room.jobs);
    END LOOP;

    IF n_open < asked THEN
        INSERT INTO counterfoil.jobs
               (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt, parkings, max_attempts,
                serial_key, serial_order, concurrency_limit, deadline, cancel_requested, correlation_id, args,
                in_line)
        SELECT a.id, a.tenant, 1, 'waiting', a.kind, a.queue, a.priority, a.run_at, 0, 0, a.max_attempts,
               a.serial_key, 0, a.concurrency_limit, a.deadline, false, a.correlation, a.args,
               crowded IS NOT NULL AND crowded ? (a.tenant || ' ' || a.queue)
          FROM counterfoil.jobs_asked(requests, ids, at) a
         WHERE a.unique_key IS NULL
         ORDER BY a.n;
    END IF;
    open_ids := ids;
    FOR round IN 1 .. 5 LOOP
        EXIT WHEN n_open = 0;
        -- In the order of the keys, so that two calls cannot wait for each other.
        INSERT INTO counterfoil.jobs
               (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt, parkings, max_attempts,
                unique_key, serial_key, serial_order, concurrency_limit, deadline, cancel_requested, correlation_id, args,
                in_line)
        SELECT a.id, a.tenant, 1, 'waiting', a.kind, a.queue, a.priority, a.run_at, 0, 0, a.max_attempts,
               a.unique_key, a.serial_key, 0, a.concurrency_limit, a.deadline, false, a.correlation, a.args,
               crowded IS NOT NULL AND crowded ? (a.tenant || ' ' || a.queue)
          FROM counterfoil.jobs_asked(requests, open_ids, at) a
         WHERE a.unique_key IS NOT NULL AND a.id IS NOT NULL
         ORDER BY a.tenant COLLATE "C", a.unique_key COLLATE "C", a.n
        ON CONFLICT (tenant_id, unique_key) WHERE unique_key IS NOT NULL DO NOTHING;
        GET DIAGNOSTICS n_made = ROW_COUNT;
        EXIT WHEN n_made = n_open;
        -- Whose is the key now: its own, an earlier job's, nobody's any more? Planned
        -- anew: a cached plan that was made while the table was small would scan it
        -- when it is large. Of positions nothing is decided.
        EXECUTE '
            SELECT array_agg(CASE WHEN a.key IS NOT NULL AND j.stream_id IS NULL THEN a.id END ORDER BY a.n),
                   array_agg(coalesce(a.held, nullif(j.stream_id, a.id)) ORDER BY a.n),
                   array_agg(coalesce(a.held_at, (SELECT e.position FROM counterfoil.events e
                                                   WHERE e.stream_id = j.stream_id AND e.version = 1)) ORDER BY a.n),
                   count(*) FILTER (WHERE a.key IS NOT NULL AND a.id IS NOT NULL AND j.stream_id IS NULL)
              FROM (SELECT t.n, t.id, t.held, t.held_at, t.asked->>''uniqueKey'' AS key,
                           coalesce(t.asked->>''tenant'', ''default'') AS tenant
                      FROM unnest($1, $2, $3, $4) WITH ORDINALITY AS t(asked, id, held, held_at, n)) a
              LEFT JOIN counterfoil.jobs j
                ON a.id IS NOT NULL AND j.tenant_id = a.tenant AND j.unique_key = a.key'
           INTO open_ids, held, held_at, n_open
          USING requests, open_ids, held, held_at;
        IF round = 5 AND n_open > 0 THEN
            RAISE EXCEPTION 'serialization_failure: jobs with the keys of % requests come and go', n_open
                USING ERRCODE = '40001';
        END IF;
    END LOOP;

    IF held IS NULL THEN
        born := ids;
    ELSE
        born := ARRAY(SELECT CASE WHEN a.held IS NULL THEN a.id END
                        FROM unnest(ids, held) WITH ORDINALITY AS a(id, held, n) ORDER BY a.n);
        FOR room IN
            SELECT k.key AS tenant,
                   k.value::integer - (SELECT count(*)::integer FROM unnest(requests, born) AS b(asked, id)
                                        WHERE b.id IS NOT NULL
                                          AND coalesce(b.asked->>'tenant', 'default') = k.key) AS jobs
              FROM jsonb_each_text(kept) k
        LOOP
            IF room.jobs < 0 THEN
                RAISE EXCEPTION 'serialization_failure: jobs with the keys of % requests come and go', -room.jobs
                    USING ERRCODE = '40001';
            ELSIF room.jobs > 0 THEN
                PERFORM counterfoil.give_room_back(room.tenant, room.jobs);
            END IF;
        END LOOP;
    END IF;
    meta := jsonb_build_object(
        'actor', jsonb_build_object('type', 'shop', 'id', session_user),
        'commit_id', counterfoil.uuid7());
    WITH logged AS (
        INSERT INTO counterfoil.events (tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
        SELECT a.tenant, a.id, 1, 'job.enqueued', 1,
               CASE WHEN a.concurrency_limit = 1 THEN to_jsonb(facts)
                    ELSE to_jsonb(facts) || jsonb_build_object('concurrency_limit', a.concurrency_limit) END,
               meta || jsonb_build_object('correlation_id', a.correlation), at
          FROM counterfoil.jobs_asked(requests, born, at) a
         CROSS JOIN LATERAL (
               SELECT a.kind, a.queue, a.priority, a.args, a.unique_key, a.serial_key, 0 AS serial_order,
                      counterfoil.instant_text(a.run_at) AS run_at, a.max_attempts,
                      counterfoil.instant_text(a.deadline) AS deadline) facts
         WHERE a.id IS NOT NULL
         ORDER BY a.n
        RETURNING events.position)
    SELECT array_agg(l.position ORDER BY l.position) INTO born_at FROM logged l;

    PERFORM counterfoil.notify_idle(ARRAY(
        SELECT DISTINCT a.queue
          FROM counterfoil.jobs_asked(requests, born, at) a
         WHERE a.notifies AND a.id IS NOT NULL AND a.run_at <= counterfoil.now()));

    IF held IS NULL THEN
        RETURN QUERY
        SELECT (b.n - 1)::integer, b.id, false, b.place
          FROM unnest(born, born_at) WITH ORDINALITY AS b(id, place, n);
    ELSE
        RETURN QUERY
        SELECT (a.n - 1)::integer, coalesce(a.held, a.id), a.held IS NOT NULL, coalesce(a.place, b.place)
          FROM unnest(ids, held, held_at) WITH ORDINALITY AS a(id, held, place, n)
          LEFT JOIN unnest(array_remove(born, NULL), born_at) AS b(id, place) ON b.id = coalesce(a.held, a.id)
         ORDER BY a.n;
    END IF;
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
            jsonb_build_object(
                'actor', jsonb_build_object('type', 'shop', 'id', session_user),
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
