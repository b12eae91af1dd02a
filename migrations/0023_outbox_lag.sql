-- Outbox lag: what was recorded for the outside, and what of it still waits.
--
-- waiting = recorded - gone. What was recorded is folded from the log, behind the backs
-- of those who write; what is gone (published, or deleted unpublished) is counted when it
-- goes, whoever lets it go. So a birth pays nothing (docs/adr/0028-count-what-is-gone.md).

-- A count is about a minute, an hour, a day or all time, in UTC, of when the event was recorded.
CREATE FUNCTION counterfoil.lag_begins(span text, at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT CASE span WHEN 'ever' THEN 'epoch'::timestamptz ELSE date_trunc(span, at, 'UTC') END $$;

-- Of a minute each stretch of so many positions counts by itself: however many messages
-- a minute has, what waits is found by a look at few.
CREATE FUNCTION counterfoil.lag_block(span text, place bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE span WHEN 'minute' THEN place >> 14 ELSE 0 END $$;

DO $do$
DECLARE
    slot text;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        EXECUTE format($ddl$
            CREATE TABLE counterfoil.read_outbox_lag_%1$s (
                span           text        NOT NULL,
                topic          text        NOT NULL,
                begins_at      timestamptz NOT NULL,
                tenant_id      text        NOT NULL,
                block          bigint      NOT NULL,
                recorded       bigint      NOT NULL,
                first_position bigint      NOT NULL,
                last_position  bigint      NOT NULL,
                first_at       timestamptz NOT NULL,
                last_at        timestamptz NOT NULL,
                CONSTRAINT read_outbox_lag_%1$s_pkey PRIMARY KEY (span, topic, begins_at, tenant_id, block)
            ) WITH (fillfactor = 70)
        $ddl$, slot);
        EXECUTE format(
            'CREATE INDEX read_outbox_lag_%1$s_tenant
                 ON counterfoil.read_outbox_lag_%1$s (tenant_id, span, topic, begins_at, block)', slot);
    END LOOP;
END
$do$;
INSERT INTO counterfoil.projections (name, schema) VALUES ('outbox_lag', 1);

-- What waits no more, by the same keys. No fold of the log: nobody tells the log.
CREATE TABLE counterfoil.outbox_gone (
    span         text        NOT NULL,
    topic        text        NOT NULL,
    begins_at    timestamptz NOT NULL,
    tenant_id    text        NOT NULL,
    block        bigint      NOT NULL,
    gone         bigint      NOT NULL,
    -- Of those that were published, from when the event was recorded.
    longest_wait interval    NOT NULL,
    CONSTRAINT outbox_gone_pkey PRIMARY KEY (span, topic, begins_at, tenant_id, block)
) WITH (fillfactor = 70);
CREATE INDEX outbox_gone_tenant ON counterfoil.outbox_gone (tenant_id, span, topic, begins_at, block);

-- Planned anew each time: a publisher marks a hundred of them, a person a million.
CREATE FUNCTION counterfoil.count_gone() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    EXECUTE format('
        INSERT INTO counterfoil.outbox_gone AS g (span, topic, begins_at, tenant_id, block, gone, longest_wait)
        SELECT s.span, m.topic, counterfoil.lag_begins(s.span, m.begins_at), m.tenant_id,
               CASE s.span WHEN ''minute'' THEN m.block ELSE 0 END, sum(m.gone), max(m.longest_wait)
          FROM (SELECT e.type AS topic, counterfoil.lag_begins(''minute'', e.recorded_at) AS begins_at, e.tenant_id,
                       counterfoil.lag_block(''minute'', e.position) AS block, sum(c.gone) AS gone,
                       greatest(max(c.published_at - e.recorded_at), ''0'') AS longest_wait
                  FROM (%s) c
                  JOIN counterfoil.events e ON e.position = c.position
                 GROUP BY 1, 2, 3, 4) m
         CROSS JOIN (VALUES (''minute''), (''hour''), (''day''), (''ever'')) s (span)
         GROUP BY 1, 2, 3, 4, 5
         ORDER BY 1, 2, 3, 4, 5
            ON CONFLICT (span, topic, begins_at, tenant_id, block) DO UPDATE
           SET gone = g.gone + excluded.gone,
               longest_wait = greatest(g.longest_wait, excluded.longest_wait)',
        CASE TG_OP
            WHEN 'DELETE' THEN '
                SELECT b.position, 1 AS gone, NULL::timestamptz AS published_at
                  FROM before b WHERE b.published_at IS NULL'
            ELSE '
                SELECT a.position, CASE WHEN a.published_at IS NULL THEN -1 ELSE 1 END AS gone, a.published_at
                  FROM after a JOIN before b USING (position)
                 WHERE (a.published_at IS NULL) <> (b.published_at IS NULL)'
        END);
    RETURN NULL;
END
$$;
CREATE TRIGGER outbox_published AFTER UPDATE ON counterfoil.outbox
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.count_gone();
CREATE TRIGGER outbox_deleted AFTER DELETE ON counterfoil.outbox
    REFERENCING OLD TABLE AS before
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.count_gone();

-- What went before there was anybody to count it.
INSERT INTO counterfoil.outbox_gone (span, topic, begins_at, tenant_id, block, gone, longest_wait)
SELECT s.span, e.type, counterfoil.lag_begins(s.span, e.recorded_at), e.tenant_id,
       counterfoil.lag_block(s.span, e.position), count(*),
       greatest(max(o.published_at - e.recorded_at), '0')
  FROM counterfoil.events e
  LEFT JOIN counterfoil.outbox o ON o.position = e.position
 CROSS JOIN (VALUES ('minute'), ('hour'), ('day'), ('ever')) s (span)
 WHERE e.type IN ('order.paid', 'addon.purchased', 'wallet.credited', 'order.fulfilled', 'order.refunded',
                  'fulfillment.failed', 'entitlement.drift_detected', 'job.succeeded', 'job.discarded',
                  'job.cancelled', 'maintenance.opened', 'maintenance.closed')
   AND (o.position IS NULL OR o.published_at IS NOT NULL)
 GROUP BY 1, 2, 3, 4, 5;
