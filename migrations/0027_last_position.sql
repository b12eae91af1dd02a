-- The last position that was handed out, read so that it is one: ADR 0029.

-- `SELECT last_value FROM` the sequence shows, now and then, a number that nobody has
-- been given yet: every 32nd nextval writes what comes 32 later, logs it, and only then
-- writes its own, and a scan reads the row without the lock that keeps others out.
-- Nobody else reads the sequence. NULL would be a ticket that holds nothing back.
CREATE FUNCTION counterfoil.last_position() RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    last CONSTANT bigint := pg_catalog.pg_sequence_last_value('counterfoil.position_seq'::pg_catalog.regclass);
BEGIN
    IF last IS NULL THEN
        IF pg_catalog.has_sequence_privilege('counterfoil.position_seq', 'USAGE, SELECT') THEN
            RAISE EXCEPTION 'counterfoil.position_seq has not handed out any position'
                USING ERRCODE = '55000', HINT = 'It was set back: stop every process and set it to at least the highest position of counterfoil.events with setval.';
        END IF;
        RAISE EXCEPTION 'permission denied for sequence position_seq'
            USING ERRCODE = '42501', HINT = 'GRANT USAGE, SELECT ON SEQUENCE counterfoil.position_seq to this role.';
    END IF;
    RETURN last;
END
$$;

-- As before but for the read.
CREATE OR REPLACE FUNCTION counterfoil.take_ticket() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    me   text := pg_current_xact_id()::text;
    last bigint;
BEGIN
    IF coalesce(current_setting('counterfoil.ticket', true), '') <> me THEN
        last := counterfoil.last_position();
        PERFORM pg_advisory_xact_lock_shared(i.lock_space, (last & 4294967295)::bit(32)::integer)
           FROM counterfoil.installation i;
        PERFORM set_config('counterfoil.ticket', me, true);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION counterfoil.horizon() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog
AS $$
DECLARE
    bound   bigint;
    tickets bigint[];
    latest  bigint;
BEGIN
    -- A standby shows neither what was handed out nor any ticket.
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'a standby has no horizon: tickets are held on the primary'
            USING ERRCODE = '55000', HINT = 'Follow the log on the primary.';
    END IF;
    -- First the upper bound, then the tickets: never the other way round.
    bound := counterfoil.last_position();
    SELECT array_agg(l.objid::bigint) INTO tickets
      FROM pg_locks l, counterfoil.installation i
     WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.mode = 'ShareLock' AND l.granted
       AND l.classid::bigint = (i.lock_space::bigint & 4294967295)
       AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
    IF tickets IS NULL THEN
        RETURN bound;
    END IF;
    -- Tickets are widened against what no ticket is above: one may have been taken
    -- after `bound` was read, and is above that.
    latest := counterfoil.last_position();
    RETURN least(bound, (
        SELECT min(CASE WHEN t.wide > latest THEN t.wide - 4294967296 ELSE t.wide END)
          FROM (SELECT (latest & ~4294967295::bigint) | low AS wide FROM unnest(tickets) low) t));
END
$$;

-- How many events there may be that the snapshot of this transaction does not show, as
-- it was taken by an earlier statement; 0 at READ COMMITTED.
CREATE OR REPLACE FUNCTION counterfoil.unseen_events() RETURNS bigint
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
    unseen := counterfoil.last_position() - since;
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
           hashtextextended(tenant, i.lock_space) & ~4294967295, s.last
      INTO counted, above, is_new, locks, last
      -- One row each, as the planner does not know by itself: for millions it would
      -- compile the query, which takes a quarter of a second.
      FROM (SELECT o.* FROM counterfoil.installation o LIMIT 1) i
     CROSS JOIN (SELECT counterfoil.last_position() AS last) s
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
                    latest := counterfoil.last_position();
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
