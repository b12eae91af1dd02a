-- Who may ask, and what of: tokens of programs, people, and where they have signed in.
--
-- Plain rows, changed by people alone; what is done to tokens and people is an event
-- (operator.action_taken), written in the same transaction.  Of every secret its
-- SHA-256 is kept (they are 256 random bits), of every password an Argon2id hash.
CREATE TABLE counterfoil.api_tokens (
    tenant_id      text        NOT NULL,
    token_id       uuid        NOT NULL,
    name           text        NOT NULL,
    -- The one door that it opens.
    surface        text        NOT NULL,
    -- Words, no list: an older version must hold what a newer one has given.
    scopes         text[]      NOT NULL,
    -- Networks that it may be used from; none: from everywhere.
    allowed_from   text[]      NOT NULL,
    created_by     text        NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT counterfoil.now(),
    expires_at     timestamptz NOT NULL,
    revoked_at     timestamptz,
    secret         bytea       NOT NULL,
    secret_at      timestamptz NOT NULL DEFAULT counterfoil.now(),
    -- While a program takes over its new secret, the one before is good as well.
    previous       bytea,
    previous_until timestamptz,
    -- Volatile, written at most once a minute: no index names it.
    last_used_at   timestamptz,
    CONSTRAINT api_tokens_pkey PRIMARY KEY (token_id),
    CONSTRAINT api_tokens_name_plain CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    CONSTRAINT api_tokens_surface_known CHECK (surface IN ('shop', 'admin')),
    CONSTRAINT api_tokens_scoped CHECK (cardinality(scopes) > 0),
    -- 365 days, of 24 hours each in every time zone.
    CONSTRAINT api_tokens_expire CHECK (expires_at <= secret_at + interval '8760 hours'),
    CONSTRAINT api_tokens_digest CHECK (
        octet_length(secret) = 32 AND octet_length(previous) = 32),
    CONSTRAINT api_tokens_previous_whole CHECK ((previous IS NULL) = (previous_until IS NULL))
) WITH (fillfactor = 70);
-- A program is known by its name in the log: two live tokens never share one.
CREATE UNIQUE INDEX api_tokens_name ON counterfoil.api_tokens (tenant_id, name)
    WHERE revoked_at IS NULL;

CREATE TABLE counterfoil.people (
    tenant_id   text        NOT NULL,
    person_id   uuid        NOT NULL,
    -- Whoever signs in says no tenant, so it is one of the whole installation.
    name        text        NOT NULL,
    role        text        NOT NULL,
    password    text        NOT NULL,
    password_at timestamptz NOT NULL DEFAULT counterfoil.now(),
    created_at  timestamptz NOT NULL DEFAULT counterfoil.now(),
    disabled_at timestamptz,
    CONSTRAINT people_pkey PRIMARY KEY (person_id),
    CONSTRAINT people_name UNIQUE (name),
    CONSTRAINT people_name_plain CHECK (name ~ '^[a-z0-9][a-z0-9._@+-]{0,63}$'),
    CONSTRAINT people_password_hashed CHECK (password LIKE '$argon2id$%')
) WITH (fillfactor = 70);

CREATE TABLE counterfoil.sessions (
    tenant_id text        NOT NULL,
    -- Of the cookie's secret.
    digest    bytea       NOT NULL,
    person_id uuid        NOT NULL,
    began_at  timestamptz NOT NULL DEFAULT counterfoil.now(),
    -- Volatile, written at most once a minute: no index names it.
    seen_at   timestamptz NOT NULL DEFAULT counterfoil.now(),
    -- However often it is used.
    ends_at   timestamptz NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (digest),
    CONSTRAINT sessions_digest CHECK (octet_length(digest) = 32),
    CONSTRAINT sessions_person FOREIGN KEY (person_id) REFERENCES counterfoil.people
) WITH (fillfactor = 70);
-- All of somebody's end at once: when they are disabled, or get another role or password.
CREATE INDEX sessions_of_person ON counterfoil.sessions (person_id);

-- How often somebody has tried to sign in, in the minute that began with the first try.
CREATE TABLE counterfoil.sign_in_attempts (
    -- SHA-256 of the account or of the address: what was typed is not kept.
    counted     bytea       NOT NULL,
    attempts    integer     NOT NULL,
    window_ends timestamptz NOT NULL,
    CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (counted)
);
-- Serves the removal of those that are over.
CREATE INDEX sign_in_attempts_over ON counterfoil.sign_in_attempts (window_ends);
