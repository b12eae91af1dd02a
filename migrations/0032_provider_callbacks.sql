-- Callbacks of providers of goods: what came, who signed it, and what became of it.
--
-- A row is written before anything follows from it.  Its body is sealed, and kept for 30
-- days; of what nobody has signed, and of repetitions, only the hash is kept.
CREATE TABLE counterfoil.provider_callbacks (
    id            uuid        NOT NULL,
    tenant_id     text        NOT NULL,
    provider      text        NOT NULL,
    -- As the provider names the event.
    event_id      text,
    state         text        NOT NULL,
    code          text,
    kind          text,
    delivery_id   uuid,
    duplicate_of  uuid,
    body_sha256   bytea       NOT NULL,
    body_bytes    integer     NOT NULL,
    body          bytea,
    body_key      text,
    received_at   timestamptz NOT NULL DEFAULT counterfoil.now(),
    processed_at  timestamptz,
    keep_until    timestamptz NOT NULL DEFAULT counterfoil.now() + interval '30 days',
    CONSTRAINT provider_callbacks_pkey PRIMARY KEY (id),
    CONSTRAINT provider_callbacks_state_known CHECK (
        state IN ('accepted', 'duplicate', 'ignored', 'failed', 'rejected')),
    CONSTRAINT provider_callbacks_kind_known CHECK (kind IN ('delivered', 'accepted', 'failed')),
    CONSTRAINT provider_callbacks_says_why CHECK (
        code IS NOT NULL OR state IN ('accepted', 'duplicate')),
    CONSTRAINT provider_callbacks_signed CHECK (
        state = 'rejected' OR event_id IS NOT NULL),
    CONSTRAINT provider_callbacks_sealed CHECK (
        (body IS NULL) = (body_key IS NULL)
        AND (body IS NOT NULL) = (state IN ('accepted', 'ignored', 'failed'))),
    CONSTRAINT provider_callbacks_repeats CHECK (
        (duplicate_of IS NOT NULL) = (state = 'duplicate')),
    CONSTRAINT provider_callbacks_hashed CHECK (octet_length(body_sha256) = 32)
);
-- An event is taken once, however often it is sent; what nobody has signed takes no name.
CREATE UNIQUE INDEX provider_callbacks_event
    ON counterfoil.provider_callbacks (tenant_id, provider, event_id)
    WHERE state IN ('accepted', 'ignored', 'failed');
-- What waits for a person, newest first.
CREATE INDEX provider_callbacks_open ON counterfoil.provider_callbacks (id)
    WHERE state IN ('ignored', 'failed');

-- All but the body, which another key may seal anew.
CREATE TRIGGER provider_callbacks_final BEFORE UPDATE OF id, tenant_id, provider, event_id, state,
        code, kind, delivery_id, duplicate_of, body_sha256, body_bytes, received_at, processed_at
    ON counterfoil.provider_callbacks FOR EACH ROW WHEN (OLD.state NOT IN ('ignored', 'failed'))
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();
