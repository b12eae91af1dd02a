-- Projections: which of its two tables each one reads, who runs it, what was set aside.
--
-- A read model lives in two tables of one shape, read_<name>_a and read_<name>_b. One is
-- live: it is read, and followed. The other one is spare: there it is rebuilt, or folded
-- again to be compared. A swap is the update of one row here, so a snapshot sees either
-- all of the one or all of the other (docs/adr/0027-two-tables-for-a-read-model.md).

CREATE TABLE counterfoil.projections (
    name           text        NOT NULL,
    live           text        NOT NULL DEFAULT 'a',
    -- The number of the code that folded the live rows; other code leaves them alone.
    schema         integer     NOT NULL,
    paused_at      timestamptz,
    paused_by      text,
    paused_reason  text,
    -- What is being made in the spare table, since when, by which code.
    build          text,
    build_schema   integer,
    build_began_at timestamptz,
    CONSTRAINT projections_pkey PRIMARY KEY (name),
    CONSTRAINT projections_name_plain CHECK (name ~ '^[a-z][a-z_]{0,39}$'),
    CONSTRAINT projections_live_known CHECK (live IN ('a', 'b')),
    CONSTRAINT projections_build_known CHECK (build IN ('rebuild', 'verify')),
    CONSTRAINT projections_build_whole CHECK (
        (build IS NULL) = (build_schema IS NULL) AND (build IS NULL) = (build_began_at IS NULL)),
    CONSTRAINT projections_paused_whole CHECK (
        (paused_at IS NULL) = (paused_by IS NULL) AND (paused_at IS NULL) = (paused_reason IS NULL))
) WITH (fillfactor = 70);

-- One holder of each role in the whole installation; who does not renew loses it. It
-- spares work that would be done twice. Whether something is done once is decided by
-- the checkpoint, which moves only from where its writer had read on.
CREATE TABLE counterfoil.leadership (
    role       text        NOT NULL,
    holder     uuid        NOT NULL,
    host       text        NOT NULL,
    pid        integer     NOT NULL,
    term       bigint      NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT leadership_pkey PRIMARY KEY (role),
    CONSTRAINT leadership_term_positive CHECK (term > 0)
) WITH (fillfactor = 70);

-- Events that a projection could not fold. A stream that has one is left as it was
-- before it, with all that follows, until the projection is resumed.
CREATE TABLE counterfoil.projection_set_aside (
    projection text        NOT NULL,
    slot       text        NOT NULL,
    position   bigint      NOT NULL,
    tenant_id  text        NOT NULL,
    stream_id  uuid        NOT NULL,
    version    integer     NOT NULL,
    type       text        NOT NULL,
    -- Why; of those behind the first one of a stream: that they wait for it.
    reason     text        NOT NULL,
    set_aside_at timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT projection_set_aside_pkey PRIMARY KEY (projection, slot, position)
);
CREATE INDEX projection_set_aside_stream ON counterfoil.projection_set_aside (projection, slot, stream_id);
