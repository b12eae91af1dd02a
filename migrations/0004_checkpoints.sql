-- How far each projection has read the log: one truth, written in the transaction
-- of the projection's own rows.
CREATE TABLE counterfoil.checkpoints (
    name       text        NOT NULL,
    position   bigint      NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT checkpoints_pkey PRIMARY KEY (name),
    CONSTRAINT checkpoints_position_possible CHECK (position >= 0)
) WITH (fillfactor = 70);
