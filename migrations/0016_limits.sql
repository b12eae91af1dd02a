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
    newest  timestamptz;
BEGIN
    SELECT greatest(l.max_pending, l.max_tenant_pending) + 1 INTO most
      FROM counterfoil.limits l
     WHERE l.max_pending > 0 OR l.max_tenant_pending > 0;
    IF most IS NULL
       OR EXISTS (SELECT FROM counterfoil.pending_counts p
                   WHERE p.until > counterfoil.now() + lasts - interval '900 milliseconds'
                     AND p.until <= counterfoil.now() + lasts)
       OR NOT pg_try_advisory_xact_lock((SELECT i.lock_space FROM counterfoil.installation i)) THEN
        RETURN false;
    END IF;
    settled := counterfoil.horizon();
    counted := counterfoil.count_all_pending(most);
    INSERT INTO counterfoil.pending_counts (until, pending, is_whole, horizon)
    VALUES (counterfoil.now() + lasts, counted, counted < most, settled)
    RETURNING until INTO newest;
    DELETE FROM counterfoil.pending_counts p
     WHERE p.until <> newest;
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
    SELECT c.pending, CASE WHEN c.is_whole THEN c.pending - c.horizon END,
           c.until > counterfoil.now() AND c.until <= counterfoil.now() + interval '5 seconds',
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
