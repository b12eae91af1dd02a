-- Tenants in turn: whose tenant has many waiting jobs already is born in its line.

-- The first so many waiting jobs of a tenant in a queue are claimed in the open, with
-- those of everybody else; whoever comes behind them is in the tenant's own line, and a
-- claim goes round the lines. Told at birth and never changed: no event, and no row is
-- written again because others come or go.
ALTER TABLE counterfoil.jobs ADD COLUMN in_line boolean NOT NULL DEFAULT false;
ALTER TABLE counterfoil.jobs ALTER COLUMN in_line DROP DEFAULT;

-- A waiting job has an entry in one of them.
DROP INDEX counterfoil.jobs_claim;
CREATE INDEX jobs_claim ON counterfoil.jobs (queue, priority, run_at)
    WHERE state = 'waiting' AND NOT is_suspect AND NOT in_line;
CREATE INDEX jobs_lines ON counterfoil.jobs (queue, tenant_id, priority, run_at)
    WHERE state = 'waiting' AND NOT is_suspect AND in_line;

-- Whether so many more jobs of a tenant bring a queue's waiting ones to more than 32.
--
-- Without the two settings a plan that was made while the table was small would scan it
-- when it is large.  A look under SERIALIZABLE would make every two births of a tenant
-- a conflict, and paid orders with them: there nobody is born in line.
CREATE FUNCTION counterfoil.is_crowded(tenant text, queue_name text, more integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'serializable' THEN
        RETURN false;
    END IF;
    RETURN EXISTS (SELECT
                     FROM counterfoil.jobs j
                    WHERE j.tenant_id COLLATE "C" = tenant
                      AND j.queue = queue_name
                      AND j.state = 'waiting'
                   OFFSET greatest(32 - more, 0));
END
$$;

-- The lines of some queues: of each its queue, its tenant, and when the first job of a
-- kind is due at each priority. One step of the index for each, whatever is in it.
CREATE FUNCTION counterfoil.lines(queues text[], kinds text[]) RETURNS text[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    at         CONSTANT timestamptz := counterfoil.now();
    queue_name text;
    tenant     text;
    told       text[] := '{}';
BEGIN
    FOREACH queue_name IN ARRAY queues LOOP
        tenant := '';
        LOOP
            SELECT j.tenant_id INTO tenant
              FROM counterfoil.jobs j
             WHERE j.state = 'waiting'
               AND NOT j.is_suspect
               AND j.in_line
               AND j.queue = queue_name
               AND j.tenant_id > tenant
             ORDER BY j.tenant_id
             LIMIT 1;
            EXIT WHEN NOT FOUND;
            told := told || ARRAY[ARRAY[queue_name, tenant] || ARRAY(
                SELECT counterfoil.instant_text(due.run_at)
                  FROM generate_series(1, 4) AS p(priority)
                  LEFT JOIN LATERAL (
                       SELECT j.run_at
                         FROM counterfoil.jobs j
                        WHERE j.state = 'waiting'
                          AND NOT j.is_suspect
                          AND j.in_line
                          AND j.queue = queue_name
                          AND j.tenant_id = tenant
                          AND j.priority = p.priority
                          AND j.run_at <= at
                          AND j.kind = ANY (kinds)
                        ORDER BY j.run_at
                        LIMIT 1) due ON true
                 ORDER BY p.priority)];
        END LOOP;
    END LOOP;
    RETURN told;
END
$$;

-- Births that do not say where they belong: all but those of enqueue_many.
CREATE FUNCTION counterfoil.put_in_line() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'serializable' THEN
        NEW.in_line := false;
        RETURN NEW;
    END IF;
    NEW.in_line := EXISTS (SELECT
                             FROM counterfoil.jobs j
                            WHERE j.tenant_id COLLATE "C" = NEW.tenant_id
                              AND j.queue = NEW.queue
                              AND j.state = 'waiting'
                           OFFSET 31);
    RETURN NEW;
END
$$;
CREATE TRIGGER jobs_put_in_line BEFORE INSERT ON counterfoil.jobs
    FOR EACH ROW WHEN (NEW.in_line IS NULL) EXECUTE FUNCTION counterfoil.put_in_line();

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
        refused := counterfoil.room_for(room.tenant, room.jobs, asked);
        IF refused IS NOT NULL THEN
            -- What is there already needs no room.
            told := counterfoil.jobs_to_bear(requests, room.tenant);
            IF told < room.jobs THEN
                refused := CASE WHEN told > 0 THEN counterfoil.room_for(room.tenant, told, told) END;
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
