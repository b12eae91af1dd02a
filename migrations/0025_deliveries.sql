-- Deliveries of goods: one head for each line of goods that an order owes.

CREATE TABLE counterfoil.deliveries (
    stream_id       uuid     NOT NULL,
    tenant_id       text     NOT NULL,
    version         integer  NOT NULL,
    state           text     NOT NULL,
    order_stream_id uuid     NOT NULL,
    order_id        text     NOT NULL,
    customer_id     text     NOT NULL,
    line            integer  NOT NULL,
    provider        text     NOT NULL,
    product         jsonb    NOT NULL,
    quantity        integer  NOT NULL,
    recipient       text     NOT NULL,
    currency        text     NOT NULL,
    cost_minor      bigint   NOT NULL,
    price_minor     bigint   NOT NULL,
    paid_minor      bigint   NOT NULL,
    purchases       smallint NOT NULL,
    decision        integer  NOT NULL,
    standing        text     NOT NULL,
    withdraws_to    text     NOT NULL,
    key             text,
    token           integer,
    senders         jsonb    NOT NULL,
    deadline        timestamptz,
    expires_at      timestamptz,
    repeat_until    timestamptz,
    reference       text,
    failure_class   text,
    code            text,
    next_at         timestamptz,
    deferred_code   text,
    restored_at     timestamptz,
    is_doubtful     boolean  NOT NULL,
    proposal        jsonb,
    refunded_minor  bigint,
    correlation_id  text     NOT NULL,
    CONSTRAINT deliveries_pkey PRIMARY KEY (stream_id),
    CONSTRAINT deliveries_state_known CHECK (state IN (
        'pending', 'submitted', 'needs_review', 'delivered', 'failed', 'refunded', 'cancelled')),
    CONSTRAINT deliveries_standing_known CHECK (
        standing IN ('none', 'asked', 'accepted', 'unknown')
        AND withdraws_to IN ('none', 'asked', 'accepted', 'unknown')),
    -- The budget of purchases, whatever anybody decides (I3).
    CONSTRAINT deliveries_purchases_budget CHECK (purchases BETWEEN 0 AND 6 AND decision BETWEEN 0 AND 6),
    CONSTRAINT deliveries_amounts CHECK (
        quantity > 0 AND cost_minor >= 0 AND price_minor >= 0 AND paid_minor >= 0),
    -- A refund is what the customer paid, and there is one exactly where it is over.
    CONSTRAINT deliveries_refund_whole CHECK ((refunded_minor IS NOT NULL) = (state = 'refunded')),
    CONSTRAINT deliveries_refund_paid CHECK (refunded_minor = paid_minor),
    CONSTRAINT deliveries_submitted_stands CHECK (state <> 'submitted' OR standing <> 'none'),
    CONSTRAINT deliveries_key_decided CHECK ((key IS NOT NULL) = (decision > 0)),
    CONSTRAINT deliveries_decisions_asked CHECK (decision <= purchases),
    -- What nobody knows the end of is submitted, or a person has it.
    CONSTRAINT deliveries_open_stands CHECK (
        standing = 'none' OR state = 'submitted' OR (state = 'needs_review' AND standing <> 'asked')),
    CONSTRAINT deliveries_failed_says_why CHECK (
        state NOT IN ('needs_review', 'failed', 'refunded', 'cancelled') OR code IS NOT NULL)
) WITH (fillfactor = 70);
-- A line is owed once, whoever fans its order out.
CREATE UNIQUE INDEX deliveries_line ON counterfoil.deliveries (order_stream_id, line);
-- A key belongs to one decision to buy, for ever.
CREATE UNIQUE INDEX deliveries_key ON counterfoil.deliveries (key);
-- Who may still ask, for the proofs that they are dead: few rows at any time.
CREATE INDEX deliveries_at_large ON counterfoil.deliveries (stream_id) WHERE senders <> '[]';

-- Final is final (I6), and heads stay.
CREATE TRIGGER deliveries_final BEFORE UPDATE ON counterfoil.deliveries
    FOR EACH ROW WHEN (OLD.state IN ('delivered', 'refunded', 'cancelled'))
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();
CREATE TRIGGER deliveries_kept BEFORE DELETE OR TRUNCATE ON counterfoil.deliveries
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();
