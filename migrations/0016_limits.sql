-- Limits: how many unfinished jobs intake may pile up, for a tenant and in all.
--
-- Only intake asks for room: enqueue, enqueue_many, an operator's retry. What follows
-- from money taken counts, and is never refused. How it is done, and why never more
-- than the limit is let in, is told in docs/adr/0021-room-before-a-birth.md.

CREATE TABLE counterfoil.limits (
    one                boolean NOT NULL DEFAULT true,
    -- 0: no limit.
    max_pending        integer NOT NULL DEFAULT 10000,
    max_tenant_pending integer NOT NULL DEFAULT 1000,
    CONSTRAINT limits_pkey PRIMARY KEY (one),
    CONSTRAINT limits_one_row CHECK (one),
    CONSTRAINT limits_range CHECK (max_pending BETWEEN 0 AND 1000000 AND max_tenant_pending BETWEEN 0 AND 1000000)
);
INSERT INTO counterfoil.limits DEFAULT VALUES;

-- What waits for a tenant is counted in the first, what runs for it in the second.
-- Neither gets a second entry by a claim.
-- The collation keeps it out of everybody else's way: as the smallest of the indexes it
-- was used for the front of a serial key, as long as the planner knew no better.
CREATE INDEX jobs_pending ON counterfoil.jobs (tenant_id COLLATE "C", queue, priority) WHERE state = 'waiting';
-- Rescue pages through it, too.
DROP INDEX counterfoil.jobs_running;
CREATE INDEX jobs_running ON counterfoil.jobs (tenant_id, stream_id) WHERE state = 'running';

-- How many were pending in all, counted by a worker about once a second. A new row for
-- each count, for the reason that idle_signs has it: the newest is found at once, even
-- while an old snapshot keeps the others from vacuum. The last one stays.
CREATE TABLE counterfoil.pending_counts (
    -- The figure is relied on up to here; the bound that follows from it for ever.
    until    timestamptz NOT NULL,
    pending  integer     NOT NULL,
    -- False: counting stopped there, and there may be more.
    is_whole boolean     NOT NULL,
    -- All positions up to here were final before the count began.
    horizon  bigint      NOT NULL,
    CONSTRAINT pending_counts_pkey PRIMARY KEY (until)
);
-- Whoever writes jobs was waited for by the indexes above.
INSERT INTO counterfoil.pending_counts (until, pending, is_whole, horizon)
SELECT counterfoil.now(), count(*), true, counterfoil.horizon() FROM counterfoil.jobs;

-- The front door runs with its caller's rights, and roles that could call it before
-- these tables were there shall go on; they tell nothing but numbers.
GRANT SELECT ON counterfoil.limits, counterfoil.pending_counts TO PUBLIC;

-- The unfinished jobs of a tenant, waiting for whatever and running; at most `most`.
--
-- Without the two settings a plan that was made while the table was small would scan it
-- when it is large.
CREATE FUNCTION counterfoil.count_pending(tenant text, most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (SELECT count(*)
              FROM (SELECT FROM counterfoil.jobs j WHERE j.tenant_id COLLATE "C" = tenant AND j.state = 'waiting'
                     UNION ALL
                    SELECT FROM counterfoil.jobs j WHERE j.tenant_id = tenant AND j.state = 'running'
                     LIMIT most) pending);
END
$$;

-- The same of all tenants.
CREATE FUNCTION counterfoil.count_all_pending(most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (SELECT count(*)
              FROM (SELECT FROM counterfoil.jobs j WHERE j.state = 'waiting'
                     UNION ALL
                    SELECT FROM counterfoil.jobs j WHERE j.state = 'running'
                     LIMIT most) pending);
END
$$;

-- Count what is pending in all, unless somebody has done so just now; true if counted.
--
-- At READ COMMITTED: the horizon is fetched before the snapshot of the count is taken.
CREATE FUNCTION counterfoil.refresh_pending() RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    lasts   CONSTANT interval := interval '5 seconds';
    most    integer;
    settled bigint;
    counted integer;
BEGIN
    SELECT greatest(l.max_pending, l.max_tenant_pending) + 1 INTO most
      FROM counterfoil.limits l
     WHERE l.max_pending > 0 OR l.max_tenant_pending > 0;
    IF most IS NULL
       OR EXISTS (SELECT FROM counterfoil.pending_counts p
                   WHERE p.until > counterfoil.now() + lasts - interval '900 milliseconds')
       OR NOT pg_try_advisory_xact_lock((SELECT i.lock_space FROM counterfoil.installation i)) THEN
        RETURN false;
    END IF;
    settled := counterfoil.horizon();
    counted := counterfoil.count_all_pending(most);
    INSERT INTO counterfoil.pending_counts (until, pending, is_whole, horizon)
    VALUES (counterfoil.now() + lasts, counted, counted < most, settled);
    DELETE FROM counterfoil.pending_counts p
     WHERE p.until < (SELECT max(n.until) FROM counterfoil.pending_counts n);
    RETURN true;
END
$$;

-- Advisory locks of a tenant; the upper half of their 64 bits says whose they are.
--   0 to 15    lanes, for who lets jobs in without a look at the others: each belongs to
--              one transaction at a time, and lets in a 32nd of the limit at most
--   16         shared by all who did look; meanwhile no lane is used
--   17         whoever looks has it alone, until he has looked
--   1000 + n   shared: the transaction has room for n jobs in all

-- Room for so many more jobs of a transaction that has let in `used`, beside all others
-- that have room: for how many in all there is room now, -1 when it is full, -2 when
-- others were looking all the time. It waits for those no longer than lock_timeout here.
-- Whose lanes cover what he asks for is reckoned with by who uses lanes: those may go on.
CREATE FUNCTION counterfoil.room_beside_others(
    tenant text, locks bigint, most integer, used integer, many integer, thrift integer, is_covered boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '1s'
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    me       CONSTANT bigint := pg_current_xact_id()::xid::text;
    is_alone boolean := false;
    -- Of each other: for how many he has room, and his transaction.
    rooms    bigint[];
    theirs   bigint[];
    room     bigint;
    unseen   bigint;
    granted  integer;
BEGIN
    BEGIN
        is_alone := (SELECT true FROM pg_advisory_lock(locks + 17));
        IF NOT is_covered THEN
            PERFORM pg_advisory_xact_lock_shared(locks + 16);
        END IF;
        -- First who has room, then what is there. Who has ended in between is told by the
        -- snapshot in which is counted: his jobs are among the counted, or are no more.
        -- Of his transaction's numbers the oldest is its own, the others its savepoints'.
        SELECT array_agg(h.room), array_agg((me + h.distance) & 4294967295) INTO rooms, theirs
          FROM (SELECT max(l.objid::bigint) FILTER (WHERE l.locktype = 'advisory' AND l.objsubid = 1
                           AND l.classid::bigint = ((locks >> 32) & 4294967295)
                           AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
                       - 1000 AS room,
                       min(((l.transactionid::text::bigint - me + 2147483648) & 4294967295) - 2147483648)
                       FILTER (WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock') AS distance
                  FROM pg_locks l
                 WHERE l.granted
                   AND l.locktype IN ('advisory', 'transactionid')
                   AND l.pid IS DISTINCT FROM pg_backend_pid()
                 GROUP BY l.virtualtransaction) h
         WHERE h.room > 0;
        -- What this transaction has let in is among what is there.
        SELECT most - many - (SELECT count(*)
                                FROM (SELECT FROM counterfoil.jobs j WHERE j.tenant_id COLLATE "C" = tenant AND j.state = 'waiting'
                                       UNION ALL
                                      SELECT FROM counterfoil.jobs j WHERE j.tenant_id = tenant AND j.state = 'running'
                                       LIMIT most + 1) pending)
               - (SELECT coalesce(sum(o.room), 0)
                    FROM unnest(rooms, theirs) AS o(room, xid)
                   WHERE ((o.xid - pg_snapshot_xmax(s.now)::xid::text::bigint) & 4294967295) < 2147483648
                      OR o.xid IN (SELECT r::xid::text::bigint FROM pg_snapshot_xip(s.now) r))
          INTO room
          FROM (SELECT pg_current_snapshot() AS now) s;
        IF room < 0 THEN
            granted := -1;
        ELSE
            unseen := counterfoil.unseen_events();
            IF unseen > room THEN
                RAISE EXCEPTION 'serialization_failure: too much may have happened that this transaction cannot see'
                    USING ERRCODE = '40001', HINT = 'Repeat the transaction, or ask for jobs at READ COMMITTED.';
            END IF;
            -- A loop shall not look each time, nor take a lock; but never much of what is
            -- left, a part in so many as `thrift` says.
            granted := used + many + CASE WHEN is_covered THEN 0 ELSE least(used / 2, (room - unseen) / thrift) END;
            PERFORM pg_advisory_xact_lock_shared(locks + 1000 + granted);
        END IF;
        is_alone := NOT pg_advisory_unlock(locks + 17);
    EXCEPTION WHEN query_canceled OR OTHERS THEN
        IF is_alone THEN
            PERFORM pg_advisory_unlock(locks + 17);
        ELSIF SQLSTATE = '55P03' THEN
            RETURN -2;
        END IF;
        RAISE;
    END;
    RETURN granted;
END
$$;

-- How many events there may be that the snapshot of this transaction does not show, as
-- it was taken by an earlier statement; 0 at READ COMMITTED.
CREATE FUNCTION counterfoil.unseen_events() RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    far    CONSTANT integer := 50000;
    since  bigint;
    unseen bigint;
BEGIN
    IF current_setting('transaction_isolation') = 'read committed' THEN
        RETURN 0;
    END IF;
    SELECT c.horizon INTO since FROM counterfoil.pending_counts c ORDER BY c.until DESC LIMIT 1;
    SELECT s.last_value - since INTO unseen FROM counterfoil.position_seq s;
    IF unseen < far THEN
        unseen := unseen - (SELECT count(*) FROM counterfoil.events e WHERE e.position > since);
    END IF;
    RETURN coalesce(unseen, far);
END
$$;

-- Room for so many more jobs of a tenant, of a batch of `batch` jobs of all tenants.
-- Null: there is, and it is kept until the transaction ends. Otherwise
-- tenant_pending_limit, total_pending_limit or, when it could not be found out, `busy`.
--
-- What was found out is remembered for this transaction (and forgotten by ROLLBACK TO):
-- by tenant how many it has let in, for how many there is room, and its lanes, of which
-- -1 says that it looks at the others.
CREATE FUNCTION counterfoil.room_for(tenant text, many integer, batch integer) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    book    text;
    me      text;
    most    integer;
    in_all  integer;
    counted integer;
    -- No more are pending than this and the last position: a bound for ever.
    above   bigint;
    is_new  boolean;
    locks   bigint;
    last    bigint;
    latest  bigint;
    pages   jsonb;
    used    integer;
    granted integer;
    lanes   integer;
    -- What one lane lets in, and up to how many pending ones lanes are used.
    share   integer;
    open_to integer;
    pending integer;
    wanted  integer;
    needed  integer;
    lane    integer;
    -- Whether its lanes let in all that is wanted.
    is_covered boolean := false;
    is_quiet   boolean;
    is_loop    boolean;
BEGIN
    SELECT l.max_tenant_pending, l.max_pending INTO most, in_all FROM counterfoil.limits l;
    IF (most > 0 OR in_all > 0) IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    SELECT c.pending, CASE WHEN c.is_whole THEN c.pending - c.horizon END, c.until > counterfoil.now(),
           hashtextextended(tenant, i.lock_space) & ~4294967295, s.last_value
      INTO counted, above, is_new, locks, last
      -- One row each, as the planner does not know by itself: for millions it would
      -- compile the query, which takes a quarter of a second.
      FROM (SELECT o.* FROM counterfoil.installation o LIMIT 1) i
     CROSS JOIN (SELECT o.last_value FROM counterfoil.position_seq o LIMIT 1) s
      LEFT JOIN (SELECT o.* FROM counterfoil.pending_counts o ORDER BY o.until DESC LIMIT 1) c ON true;
    IF in_all > 0 THEN
        IF is_new THEN
            IF counted + batch > in_all THEN
                RETURN 'total_pending_limit';
            END IF;
        -- No worker is alive: what cannot be ruled out is counted here.
        ELSIF (above + last + batch <= in_all) IS NOT TRUE
              AND (batch > in_all OR counterfoil.count_all_pending(in_all - batch + 1) > in_all - batch) THEN
            RETURN 'total_pending_limit';
        END IF;
    END IF;
    IF most = 0 THEN
        RETURN NULL;
    ELSIF many > most THEN
        RETURN 'tenant_pending_limit';
    END IF;

    book := 'counterfoil.room_' || (hashtext(tenant) & 63);
    me := pg_current_xact_id()::text;
    pages := nullif(current_setting(book, true), '');
    IF pages->>'' IS DISTINCT FROM me THEN
        pages := jsonb_build_object('', me);
        used := 0;
        granted := 0;
        lanes := 0;
    ELSE
        used := coalesce((pages->tenant->>0)::integer, 0);
        granted := coalesce((pages->tenant->>1)::integer, 0);
        lanes := coalesce((pages->tenant->>2)::integer, 0);
    END IF;
    IF used + many > granted THEN
        granted := NULL;
        share := most / 32;
        open_to := most - 16 * share;
        -- Who asks for one tenant after another keeps few locks for each of them.
        is_loop := pages - tenant - '' = '{}';
        wanted := greatest(used + many, least(used + CASE WHEN is_loop THEN used / 2 ELSE share END, 4 * share));
        IF lanes >= 0 AND wanted <= 4 * share AND current_setting('transaction_isolation') = 'read committed' THEN
            needed := (wanted + share - 1) / share;
            lane := pg_backend_pid() % 16;
            FOR n IN 1 .. 16 LOOP
                EXIT WHEN bit_count(lanes::bit(16)) >= needed;
                IF lanes & (1 << lane) = 0 AND pg_try_advisory_xact_lock(locks + lane) THEN
                    lanes := lanes | (1 << lane);
                END IF;
                lane := (lane + 1) % 16;
            END LOOP;
            is_covered := bit_count(lanes::bit(16)) >= needed;
            is_quiet := counterfoil.nobody_looks(locks);
            IF is_covered AND (above + last <= open_to) IS NOT TRUE THEN
                pending := counterfoil.count_pending(tenant, most - many + 1);
                IF pending > most - many THEN
                    RETURN 'tenant_pending_limit';
                END IF;
                above := pending - last;
                is_covered := pending <= open_to;
            END IF;
            IF is_covered AND is_quiet THEN
                PERFORM pg_advisory_xact_lock_shared(locks + 1000 + wanted);
                -- Who has looked meanwhile may not have seen this room; his jobs are later
                -- than `last`, then.
                IF counterfoil.nobody_looks(locks) THEN
                    SELECT s.last_value INTO latest FROM counterfoil.position_seq s;
                    IF above + latest <= open_to THEN
                        granted := wanted;
                    END IF;
                END IF;
            END IF;
        END IF;
        IF granted IS NULL THEN
            IF NOT is_covered THEN
                lanes := -1;
            END IF;
            IF pending IS NULL AND counterfoil.count_pending(tenant, most - many + 1) > most - many THEN
                RETURN 'tenant_pending_limit';
            END IF;
            granted := counterfoil.room_beside_others(tenant, locks, most, used, many,
                                                      CASE WHEN is_loop THEN 32 ELSE 4 END, is_covered);
            IF granted < 0 THEN
                RETURN CASE granted WHEN -1 THEN 'tenant_pending_limit' ELSE 'busy' END;
            END IF;
        END IF;
    END IF;
    PERFORM set_config(book, (pages || jsonb_build_object(tenant, jsonb_build_array(used + many, granted, lanes)))::text, true);
    RETURN NULL;
END
$$;

-- One expression, so that no cancel comes between its two halves. Who takes nobody's
-- word for it but his own is not in his own way.
CREATE FUNCTION counterfoil.nobody_looks(locks bigint) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$ SELECT CASE WHEN pg_try_advisory_lock(locks + 16) THEN pg_advisory_unlock(locks + 16) ELSE false END $$;

-- Give back the room of jobs that were not born after all.
CREATE FUNCTION counterfoil.give_room_back(tenant text, many integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    book  CONSTANT text := 'counterfoil.room_' || (hashtext(tenant) & 63);
    pages CONSTANT jsonb := nullif(current_setting(book, true), '')::jsonb;
BEGIN
    IF pages->>'' = pg_current_xact_id()::text AND pages ? tenant THEN
        PERFORM set_config(book,
            jsonb_set(pages, ARRAY[tenant, '0'], to_jsonb((pages->tenant->>0)::integer - many))::text, true);
    END IF;
END
$$;

-- Refuse a birth for which there is no room. A Retry-After, in seconds, follows the
-- words `retry after` of DETAIL.
CREATE FUNCTION counterfoil.refuse_pending(tenant text, why text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    code CONSTANT text := CASE why WHEN 'busy' THEN 'tenant_pending_limit' ELSE why END;
BEGIN
    IF code = 'total_pending_limit' THEN
        RAISE EXCEPTION '%: as many jobs are pending as may be, %', code,
                        (SELECT l.max_pending FROM counterfoil.limits l)
            USING ERRCODE = 'CF429', HINT = code,
                  DETAIL = 'retry after 5 s, when jobs have ended; or raise COUNTERFOIL_JOB_MAX_PENDING and run `counterfoil migrate`';
    END IF;
    RAISE EXCEPTION '%: tenant: %', code,
                    CASE why WHEN 'busy' THEN format('whether %s has room could not be found out in time', tenant)
                             ELSE format('%s has as many jobs pending as it may, %s', tenant,
                                         (SELECT l.max_tenant_pending FROM counterfoil.limits l)) END
        USING ERRCODE = 'CF429', HINT = code,
              DETAIL = CASE why WHEN 'busy' THEN 'retry after 1 s; tenant: others were looking for its room all the time'
                                ELSE 'retry after 5 s, when jobs of the tenant have ended; or raise COUNTERFOIL_JOB_MAX_TENANT_PENDING and run `counterfoil migrate`' END;
END
$$;

-- How many of the requests of a tenant would bear a job now: none does so whose key an
-- unfinished job has, or an earlier request of the same call.
CREATE FUNCTION counterfoil.jobs_to_bear(requests jsonb[], tenant text) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    many integer;
BEGIN
    -- Planned anew, as enqueue_many has it.
    EXECUTE '
        SELECT count(*) FILTER (WHERE a.key IS NULL)
               + count(DISTINCT a.key) FILTER (WHERE a.key IS NOT NULL AND NOT EXISTS (
                     SELECT FROM counterfoil.jobs j WHERE j.tenant_id = $2 AND j.unique_key = a.key))
          FROM (SELECT r->>''uniqueKey'' AS key
                  FROM unnest($1) AS r
                 WHERE coalesce(r->>''tenant'', ''default'') = $2) a'
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
                serial_key, serial_order, concurrency_limit, deadline, cancel_requested, correlation_id, args)
        SELECT a.id, a.tenant, 1, 'waiting', a.kind, a.queue, a.priority, a.run_at, 0, 0, a.max_attempts,
               a.serial_key, 0, a.concurrency_limit, a.deadline, false, a.correlation, a.args
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
                unique_key, serial_key, serial_order, concurrency_limit, deadline, cancel_requested, correlation_id, args)
        SELECT a.id, a.tenant, 1, 'waiting', a.kind, a.queue, a.priority, a.run_at, 0, 0, a.max_attempts,
               a.unique_key, a.serial_key, 0, a.concurrency_limit, a.deadline, false, a.correlation, a.args
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
