-- Bulk operations: one action on many things, previewed, and carried out one by one.

CREATE TABLE counterfoil.bulk_operations (
    stream_id        uuid             NOT NULL,
    tenant_id        text             NOT NULL,
    version          integer          NOT NULL,
    state            text             NOT NULL,
    action           text             NOT NULL,
    parameters       jsonb            NOT NULL,
    filter           text,
    items_per_second double precision NOT NULL,
    most_items       integer          NOT NULL,
    most_unapproved  integer          NOT NULL,
    requested_by     jsonb            NOT NULL,
    role             text,
    reason           text             NOT NULL,
    is_frozen        boolean          NOT NULL,
    items            integer          NOT NULL,
    position         bigint           NOT NULL,
    verdicts         jsonb            NOT NULL,
    approved_by      jsonb,
    job              uuid             NOT NULL,
    code             text,
    -- birth columns
    correlation_id   text             NOT NULL,
    created_at       timestamptz      NOT NULL DEFAULT counterfoil.now(),
    -- volatile columns: items that were looked at, and that were begun, in order
    n_previewed      integer          NOT NULL DEFAULT 0,
    n_done           integer          NOT NULL DEFAULT 0,
    n_refused        integer          NOT NULL DEFAULT 0,
    -- No item is begun before it.
    next_item_at     timestamptz,
    -- Since when the next item has found no room; null: it was not looked for in vain.
    no_room_since    timestamptz,
    CONSTRAINT bulk_operations_pkey PRIMARY KEY (stream_id),
    CONSTRAINT bulk_operations_state_known CHECK (
        state IN ('previewing', 'awaiting_approval', 'ready', 'running', 'paused', 'finished', 'cancelled')),
    CONSTRAINT bulk_operations_rate CHECK (items_per_second > 0),
    CONSTRAINT bulk_operations_begun CHECK (n_done >= 0 AND n_refused >= 0 AND n_done + n_refused <= items)
) WITH (fillfactor = 70);
-- The list, newest first.
CREATE INDEX bulk_operations_tenant ON counterfoil.bulk_operations (tenant_id, stream_id);

-- Final is final, for who would begin an item as well (I6), and a head stays.
CREATE TRIGGER bulk_operations_final BEFORE UPDATE ON counterfoil.bulk_operations
    FOR EACH ROW WHEN (OLD.state IN ('finished', 'cancelled'))
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();
CREATE TRIGGER bulk_operations_kept BEFORE DELETE OR TRUNCATE ON counterfoil.bulk_operations
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();

-- What a bulk operation is about, numbered from 1. What became of an item is written in
-- the transaction that did it.
CREATE TABLE counterfoil.bulk_items (
    bulk_id   uuid    NOT NULL,
    tenant_id text    NOT NULL,
    n         integer NOT NULL,
    target_id uuid    NOT NULL,
    -- What would have become of it when it was looked at; null: it was not yet.
    verdict   text,
    -- `done`, or the code of the refusal; null: it was not begun.
    result    text,
    -- What the refusal says beside its code: the state of the thing, or its twin.
    detail    text,
    -- Of the last event that was written for it; 0: it was so already.
    position  bigint,
    done_at   timestamptz,
    CONSTRAINT bulk_items_pkey PRIMARY KEY (bulk_id, n),
    CONSTRAINT bulk_items_numbered CHECK (n >= 1),
    CONSTRAINT bulk_items_ended CHECK ((result IS NULL) = (done_at IS NULL) AND (result IS NULL) = (position IS NULL))
) WITH (fillfactor = 70);

-- What was begun stays as it was told.
CREATE FUNCTION counterfoil.refuse_second_result() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    RAISE EXCEPTION 'state_conflict: item % was begun already', OLD.n
        USING ERRCODE = 'CF409', HINT = 'state_conflict';
END
$$;
CREATE TRIGGER bulk_items_final BEFORE UPDATE OR DELETE ON counterfoil.bulk_items
    FOR EACH ROW WHEN (OLD.result IS NOT NULL)
    EXECUTE FUNCTION counterfoil.refuse_second_result();
