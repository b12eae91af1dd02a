-- The figure of what is pending in all, when the database's clock is set back.
--
-- A figure of the time that is to come again was relied on until then, and kept
-- everybody from counting: intake was open, or closed, for as long as the clock was wrong.

-- Count what is pending in all, unless somebody has done so just now; true if counted.
--
-- At READ COMMITTED: the horizon is fetched before the snapshot of the count is taken.
CREATE OR REPLACE FUNCTION counterfoil.refresh_pending() RETURNS boolean
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

-- Room for so many more jobs of a tenant, of a batch of `batch` jobs of all tenants.
-- Null: there is, and it is kept until the transaction ends. Otherwise
-- tenant_pending_limit, total_pending_limit or, when it could not be found out, `busy`.
--
-- What was found out is remembered for this transaction (and forgotten by ROLLBACK TO):
-- by tenant how many it has let in, for how many there is room, and its lanes, of which
-- -1 says that it looks at the others.
CREATE OR REPLACE FUNCTION counterfoil.room_for(tenant text, many integer, batch integer) RETURNS text
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
