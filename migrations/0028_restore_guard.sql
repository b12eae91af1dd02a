-- The restore guard: nothing is bought while this database may be an older one.

-- Where it stands: one row.  What is stored of the place was read there when the guard
-- was last let go; another place means that the database was restored, or promoted.
CREATE TABLE counterfoil.restore_guard (
    one               boolean     NOT NULL DEFAULT true,
    state             text        NOT NULL DEFAULT 'open',
    -- Counts quarantines; what is marked in one is marked again in the next.
    episode           integer     NOT NULL DEFAULT 0,
    signs             text[]      NOT NULL DEFAULT '{}',
    since             timestamptz,
    engaged_by        text,
    reason            text,
    is_planned        boolean     NOT NULL DEFAULT false,
    -- Purchases for orders that were paid before this instant may be missing here,
    -- unless their deliveries were marked in this episode.
    doubtful_before   timestamptz,
    doubtful_episode  integer,
    system_identifier bigint,
    timeline          integer,
    database_oid      oid,
    table_oid         oid,
    CONSTRAINT restore_guard_pkey PRIMARY KEY (one),
    CONSTRAINT restore_guard_one CHECK (one),
    CONSTRAINT restore_guard_state_known CHECK (state IN ('open', 'quarantined')),
    CONSTRAINT restore_guard_quarantine_told CHECK (
        (state = 'quarantined') = (since IS NOT NULL)
        AND (state = 'quarantined') = (engaged_by IS NOT NULL)
        AND (state = 'quarantined') = (reason IS NOT NULL)
        AND (state = 'quarantined') = (cardinality(signs) > 0)
        AND (state = 'quarantined' OR NOT is_planned)),
    CONSTRAINT restore_guard_doubt_whole CHECK (
        (doubtful_before IS NULL) = (doubtful_episode IS NULL)),
    CONSTRAINT restore_guard_place_whole CHECK (
        num_nulls(system_identifier, timeline, database_oid, table_oid) IN (0, 4))
);
INSERT INTO counterfoil.restore_guard DEFAULT VALUES;
CREATE TRIGGER restore_guard_kept BEFORE DELETE OR TRUNCATE ON counterfoil.restore_guard
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();

-- Deliveries that were marked, and in which episode last.
CREATE TABLE counterfoil.restored_deliveries (
    stream_id uuid    NOT NULL,
    tenant_id text    NOT NULL,
    episode   integer NOT NULL,
    CONSTRAINT restored_deliveries_pkey PRIMARY KEY (stream_id)
);

-- Purchases that a host's journal holds and the log lacks: what a restore took back.
CREATE TABLE counterfoil.lost_purchases (
    key      text        NOT NULL,
    purchase integer     NOT NULL,
    host     text        NOT NULL,
    found_at timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT lost_purchases_pkey PRIMARY KEY (key, purchase)
);
CREATE TRIGGER lost_purchases_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON counterfoil.lost_purchases
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();

-- Marking walks over what is open, and asks what is left of it.
CREATE INDEX deliveries_unfinished ON counterfoil.deliveries (stream_id)
    WHERE state NOT IN ('delivered', 'refunded', 'cancelled');

-- The place: the cluster, its history, the database in it, and this copy of the table.
-- A dump that is restored makes new tables, so the last two tell a copy within one
-- cluster.  The timeline is the one that is written to: the control file tells a new
-- one only after the first checkpoint.
CREATE FUNCTION counterfoil.place(
    OUT system_identifier bigint, OUT timeline integer, OUT database_oid oid, OUT table_oid oid)
LANGUAGE sql VOLATILE SET search_path = pg_catalog
AS $$
    SELECT s.system_identifier,
           CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
                ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
           END,
           d.oid,
           'counterfoil.restore_guard'::regclass::oid
      FROM pg_control_system() s
     CROSS JOIN pg_database d
     WHERE d.datname = current_database()
$$;

-- What says that this is not the place where it was bought before; none: it is.
CREATE FUNCTION counterfoil.restore_signs() RETURNS text[]
LANGUAGE sql VOLATILE SET search_path = pg_catalog
AS $$
    SELECT array_remove(ARRAY[
               CASE WHEN p.system_identifier <> g.system_identifier THEN 'system_identifier' END,
               CASE WHEN p.timeline <> g.timeline THEN 'timeline' END,
               CASE WHEN p.database_oid <> g.database_oid OR p.table_oid <> g.table_oid
                    THEN 'database' END], NULL)
      FROM counterfoil.restore_guard g
     CROSS JOIN counterfoil.place() p
$$;

-- Store the place of a database that has none yet; later ones are stored by a release.
CREATE FUNCTION counterfoil.keep_place() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog
AS $$
    UPDATE counterfoil.restore_guard g
       SET system_identifier = p.system_identifier, timeline = p.timeline,
           database_oid = p.database_oid, table_oid = p.table_oid
      FROM counterfoil.place() p
     WHERE g.system_identifier IS NULL
$$;

-- Whether a purchase for the delivery may be missing here, and nobody marked it yet.
CREATE FUNCTION counterfoil.is_doubtful(delivery uuid, paid_order uuid, guard counterfoil.restore_guard)
RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog
AS $$
    SELECT guard.doubtful_before IS NOT NULL
       AND NOT EXISTS (SELECT FROM counterfoil.restored_deliveries r
                        WHERE r.stream_id = delivery
                          AND r.episode = guard.doubtful_episode)
       AND NOT EXISTS (SELECT FROM counterfoil.events e
                        WHERE e.stream_id = paid_order
                          AND e.version = 1
                          AND e.recorded_at >= guard.doubtful_before)
$$;

-- Inside transaction 1 of every purchase, whoever writes it.  The row is shared until the
-- commit: a quarantine waits for purchases that were submitted before it, and whoever
-- comes after it meets it.
CREATE FUNCTION counterfoil.guard_purchase() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    guard counterfoil.restore_guard;
    is_disabled boolean;
BEGIN
    SELECT * INTO guard FROM counterfoil.restore_guard FOR SHARE;
    IF NOT FOUND OR guard.state <> 'open' OR cardinality(counterfoil.restore_signs()) > 0 THEN
        RAISE EXCEPTION 'quarantined: nothing is bought until the restore guard is released'
            USING ERRCODE = 'CF409', HINT = 'quarantined';
    END IF;
    IF guard.system_identifier IS NULL THEN
        PERFORM counterfoil.keep_place();
    END IF;
    -- What is asked for must have been asked for after a crash of this server, too.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF OLD.restored_at IS NOT NULL OR counterfoil.is_doubtful(NEW.stream_id, NEW.order_stream_id, guard) THEN
        RAISE EXCEPTION 'restored: a purchase of it may be missing in this database'
            USING ERRCODE = 'CF409', HINT = 'restored';
    END IF;
    -- Shared, too: who disables a provider waits for what is being submitted, and then
    -- knows all that was.
    SELECT NOT p.is_enabled INTO is_disabled
      FROM counterfoil.goods_providers p
     WHERE p.tenant_id = NEW.tenant_id AND p.slug = NEW.provider
       FOR SHARE;
    IF is_disabled THEN
        RAISE EXCEPTION 'provider_unconfigured: % is disabled', NEW.provider
            USING ERRCODE = 'CF409', HINT = 'provider_unconfigured';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER deliveries_guarded BEFORE UPDATE ON counterfoil.deliveries
    FOR EACH ROW WHEN (NEW.purchases > OLD.purchases AND NEW.standing = 'asked')
    EXECUTE FUNCTION counterfoil.guard_purchase();

CREATE FUNCTION counterfoil.keep_restored() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    INSERT INTO counterfoil.restored_deliveries AS r (stream_id, tenant_id, episode)
    SELECT NEW.stream_id, NEW.tenant_id, coalesce(g.doubtful_episode, g.episode)
      FROM counterfoil.restore_guard g
        ON CONFLICT (stream_id) DO UPDATE SET episode = EXCLUDED.episode;
    RETURN NULL;
END
$$;
CREATE TRIGGER deliveries_restored AFTER UPDATE ON counterfoil.deliveries
    FOR EACH ROW WHEN (NEW.restored_at IS NOT NULL AND OLD.restored_at IS DISTINCT FROM NEW.restored_at)
    EXECUTE FUNCTION counterfoil.keep_restored();
