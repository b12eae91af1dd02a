-- Guards of money at providers of goods: a limit of what is spent within a window, a
-- notice of a low balance, and a breaker that closes the gate before one that is ill.

-- What a person has set; a provider without a row has no limits.
CREATE TABLE counterfoil.goods_limits (
    tenant_id            text    NOT NULL,
    provider             text    NOT NULL,
    currency             text    NOT NULL,
    spend_limit_minor    bigint  NOT NULL DEFAULT 0, -- 0: off
    spend_window_seconds integer NOT NULL DEFAULT 86400,
    low_balance_minor    bigint, -- NULL: nobody is told
    CONSTRAINT goods_limits_pkey PRIMARY KEY (tenant_id, provider),
    CONSTRAINT goods_limits_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT goods_limits_amounts CHECK (spend_limit_minor >= 0 AND low_balance_minor >= 0),
    CONSTRAINT goods_limits_window CHECK (spend_window_seconds BETWEEN 1 AND 2678400)
) WITH (fillfactor = 70);

-- One row a decision to buy, as long as it may have been bought, for longer than any
-- window; also without a limit, so that one that is set counts what was spent before.
CREATE TABLE counterfoil.goods_spending (
    delivery     uuid        NOT NULL,
    decision     integer     NOT NULL,
    tenant_id    text        NOT NULL,
    provider     text        NOT NULL,
    currency     text        NOT NULL,
    minor        bigint      NOT NULL,
    submitted_at timestamptz NOT NULL,
    CONSTRAINT goods_spending_pkey PRIMARY KEY (delivery, decision)
);
-- The sum of a window is read from the index alone, and what is older is removed.
CREATE INDEX goods_spending_window ON counterfoil.goods_spending
    (tenant_id, provider, submitted_at) INCLUDE (currency, minor);

-- How a provider answers, and how much money it holds: no history, the last of each.
CREATE TABLE counterfoil.goods_health (
    tenant_id        text    NOT NULL,
    provider         text    NOT NULL,
    status           text    NOT NULL DEFAULT 'unknown',
    failures         integer NOT NULL DEFAULT 0,
    last_error_code  text,
    last_checked_at  timestamptz,
    closed_at        timestamptz,
    retry_at         timestamptz,
    probe_until      timestamptz,
    balance_minor    bigint,
    balance_currency text,
    balance_at       timestamptz,
    -- When somebody last set out to ask; one process does so for the whole installation.
    balance_asked_at timestamptz,
    -- Since when the balance is low; one notice is given for each such time.
    low_since        timestamptz,
    CONSTRAINT goods_health_pkey PRIMARY KEY (tenant_id, provider),
    CONSTRAINT goods_health_status_known CHECK (status IN ('unknown', 'healthy', 'failing')),
    CONSTRAINT goods_health_balance_whole CHECK (
        num_nulls(balance_minor, balance_currency, balance_at) IN (0, 3)),
    CONSTRAINT goods_health_gate_whole CHECK (
        (closed_at IS NULL) = (retry_at IS NULL)
        AND (closed_at IS NOT NULL OR probe_until IS NULL)
        AND (closed_at IS NULL OR status = 'failing'))
) WITH (fillfactor = 70);

-- Maintenance may be of one provider, too.
ALTER TABLE counterfoil.maintenance
    DROP CONSTRAINT maintenance_scope_known,
    ADD CONSTRAINT maintenance_scope_known CHECK (
        scope IN ('panel', 'all') OR scope ~ '^goods:[a-z][a-z0-9_-]{1,31}$');

-- Gate g is closed when a row says g or 'all'; nothing else holds that truth.  A breaker
-- opens by itself when its cool-down is over.
CREATE OR REPLACE VIEW counterfoil.gates AS
SELECT scope AS gate, 'maintenance_active'::text AS cause, opened_at AS since
  FROM counterfoil.maintenance
 WHERE state = 'open'
 UNION ALL
SELECT 'goods:' || provider, 'breaker_open'::text, closed_at
  FROM counterfoil.goods_health
 WHERE closed_at IS NOT NULL
   AND retry_at > counterfoil.now();

-- What was spent of a window and may not be spent any more; NULL: there is no limit.
CREATE FUNCTION counterfoil.spent_of(lim counterfoil.goods_limits) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog
AS $$
    SELECT coalesce(sum(s.minor), 0)::bigint
      FROM counterfoil.goods_spending s
     WHERE s.tenant_id = lim.tenant_id
       AND s.provider = lim.provider
       AND s.submitted_at > counterfoil.now() - make_interval(secs => lim.spend_window_seconds)
       AND s.currency = lim.currency
$$;

-- Inside transaction 1 of a new decision to buy.  The limit's row is locked until the
-- commit, so two that would fit alone do not fit together unnoticed.
CREATE FUNCTION counterfoil.guard_spending() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    lim  counterfoil.goods_limits;
    cost CONSTANT bigint := NEW.cost_minor * NEW.quantity;
BEGIN
    SELECT * INTO lim
      FROM counterfoil.goods_limits l
     WHERE l.tenant_id = NEW.tenant_id AND l.provider = NEW.provider
       FOR NO KEY UPDATE;
    IF lim.spend_limit_minor > 0
       AND (lim.currency <> NEW.currency
            OR counterfoil.spent_of(lim) + cost > lim.spend_limit_minor) THEN
        RAISE EXCEPTION 'spend_limit: % % more than may be spent at %', cost, NEW.currency, NEW.provider
            USING ERRCODE = 'CF409', HINT = 'spend_limit';
    END IF;
    DELETE FROM counterfoil.goods_spending s
     WHERE s.ctid IN (SELECT o.ctid
                        FROM counterfoil.goods_spending o
                       WHERE o.tenant_id = NEW.tenant_id
                         AND o.provider = NEW.provider
                         AND o.submitted_at < counterfoil.now() - interval '32 days'
                       ORDER BY o.submitted_at
                       LIMIT 2
                         FOR UPDATE SKIP LOCKED);
    INSERT INTO counterfoil.goods_spending
           (delivery, decision, tenant_id, provider, currency, minor, submitted_at)
    VALUES (NEW.stream_id, NEW.decision, NEW.tenant_id, NEW.provider, NEW.currency, cost,
            counterfoil.now())
        ON CONFLICT (delivery, decision) DO UPDATE
       SET minor = EXCLUDED.minor, submitted_at = EXCLUDED.submitted_at;
    RETURN NEW;
END
$$;
CREATE TRIGGER deliveries_limited BEFORE UPDATE ON counterfoil.deliveries
    FOR EACH ROW WHEN (NEW.purchases > OLD.purchases AND NEW.standing = 'asked'
                       AND NEW.decision > OLD.decision)
    EXECUTE FUNCTION counterfoil.guard_spending();

-- What was definitely not bought was not spent: a refusal, an absence that is
-- conclusive, a submission that was never sent.  What a person says is no proof.
CREATE FUNCTION counterfoil.give_back_spending() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    DELETE FROM counterfoil.goods_spending s
     WHERE s.delivery = OLD.stream_id AND s.decision = OLD.decision;
    RETURN NULL;
END
$$;
CREATE TRIGGER deliveries_given_back AFTER UPDATE ON counterfoil.deliveries
    FOR EACH ROW WHEN (OLD.state = 'submitted' AND OLD.standing <> 'none'
                       AND NEW.standing = 'none'
                       AND NEW.state IN ('pending', 'failed', 'refunded', 'needs_review'))
    EXECUTE FUNCTION counterfoil.give_back_spending();
