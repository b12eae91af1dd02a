-- The log: events in gap-safe order without a table lock, append-only, one clock.

-- The only clock. STABLE, or no index condition could use it: with a volatile one
-- an idle claim read every waiting row. Tests replace it by one with an offset.
CREATE FUNCTION counterfoil.now() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT clock_timestamp() $$;

-- UUIDv7 (RFC 9562) for rows that SQL itself makes; PostgreSQL has its own from 18 on.
DO $do$
BEGIN
    IF current_setting('server_version_num')::int >= 180000 THEN
        CREATE FUNCTION counterfoil.uuid7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
        AS 'SELECT pg_catalog.uuidv7()';
    ELSE
        CREATE FUNCTION counterfoil.uuid7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
        AS $$
            SELECT encode(
                set_bit(set_bit(
                    overlay(uuid_send(gen_random_uuid())
                            PLACING substring(int8send((extract(epoch FROM counterfoil.now()) * 1000)::bigint) FROM 3)
                            FROM 1 FOR 6),
                    52, 1), 53, 1), 'hex')::uuid
        $$;
    END IF;
END
$do$;

-- Instants inside JSON are spelled as the Python side spells them: no fraction
-- where there is none, six digits otherwise, always Z.
CREATE FUNCTION counterfoil.instant_text(instant timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE STRICT
AS $$
    SELECT to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || CASE WHEN date_trunc('second', instant) = instant THEN ''
                ELSE to_char(instant AT TIME ZONE 'UTC', '.US') END
        || 'Z'
$$;

CREATE TABLE counterfoil.installation (
    one        boolean NOT NULL DEFAULT true,
    -- First half of the two-integer space of advisory locks; random, so that two
    -- installations in one cluster never meet.
    lock_space integer NOT NULL,
    CONSTRAINT installation_pkey PRIMARY KEY (one),
    CONSTRAINT installation_one_row CHECK (one)
);
INSERT INTO counterfoil.installation (lock_space)
VALUES ((random() * 4294967295 - 2147483648)::bigint::integer);

-- CACHE 1, and never restarted: the horizon trusts last_value.
CREATE SEQUENCE counterfoil.position_seq AS bigint MINVALUE 0 START WITH 0 CACHE 1;
-- Called once here, so that last_value is always a number that was handed out:
-- 0 for an empty log, whose first event has position 1.
SELECT nextval('counterfoil.position_seq');

CREATE TABLE counterfoil.events (
    position    bigint      NOT NULL DEFAULT nextval('counterfoil.position_seq'),
    tenant_id   text        NOT NULL,
    stream_id   uuid        NOT NULL,
    version     integer     NOT NULL,
    type        text        NOT NULL,
    schema      smallint    NOT NULL,
    data        jsonb       NOT NULL,
    meta        jsonb       NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT events_pkey PRIMARY KEY (stream_id, version),
    CONSTRAINT events_version_positive CHECK (version > 0),
    CONSTRAINT events_schema_positive CHECK (schema > 0),
    CONSTRAINT events_type_length CHECK (length(type) BETWEEN 1 AND 127)
);
-- Followers, exports and `counterfoil events` read by position.
CREATE UNIQUE INDEX events_position ON counterfoil.events (position);

-- One shared lock per writing transaction, named after the last position handed out
-- *before* its first one, and released by its end (or by ROLLBACK TO). The setting
-- holds this transaction's id, so a value that was left over or set by hand never counts.
CREATE FUNCTION counterfoil.take_ticket() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    me   text := pg_current_xact_id()::text;
    last bigint;
BEGIN
    IF coalesce(current_setting('counterfoil.ticket', true), '') <> me THEN
        SELECT last_value INTO last FROM counterfoil.position_seq;
        PERFORM pg_advisory_xact_lock_shared(i.lock_space, (last & 4294967295)::bit(32)::integer)
           FROM counterfoil.installation i;
        PERFORM set_config('counterfoil.ticket', me, true);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER events_take_ticket BEFORE INSERT ON counterfoil.events
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.take_ticket();

CREATE FUNCTION counterfoil.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    RAISE EXCEPTION 'append_only: history is append-only'
        USING ERRCODE = 'CF409', HINT = 'append_only';
END
$$;
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON counterfoil.events
    FOR EACH ROW EXECUTE FUNCTION counterfoil.refuse_change();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON counterfoil.events
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();

-- Final is final, whoever writes (I6): no operator's retry after a success.
CREATE FUNCTION counterfoil.refuse_revival() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    PERFORM 1
       FROM counterfoil.events e
      WHERE e.stream_id = NEW.stream_id
        AND e.version = NEW.version - 1
        AND e.type IN ('job.discarded', 'job.cancelled', 'fulfillment.failed');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'state_conflict: only a dead stream is retried'
            USING ERRCODE = 'CF409', HINT = 'state_conflict';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER events_refuse_revival BEFORE INSERT ON counterfoil.events
    FOR EACH ROW WHEN (NEW.type IN ('job.retried', 'fulfillment.retried'))
    EXECUTE FUNCTION counterfoil.refuse_revival();

-- Every position up to here is final. Fetch it in a statement of its own, then read
-- `position <= horizon` in a later one (the proof is in docs/architecture.md).
CREATE FUNCTION counterfoil.horizon() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog
AS $$
DECLARE
    bound  bigint;
    oldest bigint;
BEGIN
    -- First the upper bound, then the tickets: never the other way round.
    SELECT last_value INTO bound FROM counterfoil.position_seq;
    SELECT min(CASE WHEN t.wide > bound THEN t.wide - 4294967296 ELSE t.wide END) INTO oldest
      FROM (SELECT (bound & ~4294967295::bigint) | l.objid::bigint AS wide
              FROM pg_locks l, counterfoil.installation i
             WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.mode = 'ShareLock' AND l.granted
               AND l.classid::bigint = (i.lock_space::bigint & 4294967295)
               AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) t;
    RETURN least(bound, coalesce(oldest, bound));
END
$$;

-- Messages for the outside, written beside the events they tell about.
CREATE TABLE counterfoil.outbox (
    id           uuid        NOT NULL,
    position     bigint      NOT NULL,
    tenant_id    text        NOT NULL,
    topic        text        NOT NULL,
    stream_id    uuid        NOT NULL,
    version      integer     NOT NULL,
    data         jsonb       NOT NULL,
    recorded_at  timestamptz NOT NULL DEFAULT counterfoil.now(),
    published_at timestamptz,
    CONSTRAINT outbox_pkey PRIMARY KEY (id)
);
-- The relay reads by position; a unique one also says "one message per event".
CREATE UNIQUE INDEX outbox_position ON counterfoil.outbox (position);

-- Business keys, never pruned: what money depends on (I5).
CREATE TABLE counterfoil.external_keys (
    tenant_id    text        NOT NULL,
    kind         text        NOT NULL,
    key          text        NOT NULL,
    request_hash bytea       NOT NULL,
    stream_id    uuid        NOT NULL,
    job_id       uuid,
    position     bigint,
    created_at   timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT external_keys_pkey PRIMARY KEY (tenant_id, kind, key),
    CONSTRAINT external_keys_kind_known CHECK (kind IN ('order'))
);
