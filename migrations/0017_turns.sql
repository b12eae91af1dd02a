-- Tenants in turn: whose tenant has many waiting jobs already is born in its line.

-- The first so many waiting jobs of a tenant in a queue are claimed in the open, with
-- those of everybody else; whoever comes behind them is in the tenant's own line, and a
-- claim goes round the lines. Told at birth and never changed: no event, and no row is
-- written again because others come or go.
ALTER TABLE counterfoil.jobs ADD COLUMN in_line boolean NOT NULL DEFAULT false;
ALTER TABLE counterfoil.jobs ALTER COLUMN in_line DROP DEFAULT;

-- A waiting job has an entry in one of them.
DROP INDEX counterfoil.jobs_claim;
CREATE INDEX jobs_claim ON counterfoil.jobs (queue, priority, run_at)
    WHERE state = 'waiting' AND NOT is_suspect AND NOT in_line;
CREATE INDEX jobs_lines ON counterfoil.jobs (queue, tenant_id, priority, run_at)
    WHERE state = 'waiting' AND NOT is_suspect AND in_line;

-- Whether so many more jobs of a tenant bring a queue's waiting ones to more than 32.
--
-- Without the two settings a plan that was made while the table was small would scan it
-- when it is large.  A look under SERIALIZABLE would make every two births of a tenant
-- a conflict, and paid orders with them: there nobody is born in line.
CREATE FUNCTION counterfoil.is_crowded(tenant text, queue_name text, more integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'serializable' THEN
        RETURN false;
    END IF;
    RETURN EXISTS (SELECT
                     FROM counterfoil.jobs j
                    WHERE j.tenant_id COLLATE "C" = tenant
                      AND j.queue = queue_name
                      AND j.state = 'waiting'
                   OFFSET greatest(32 - more, 0));
END
$$;

-- The lines of some queues: of each its queue, its tenant, and when the first job of a
-- kind is due at each priority. One step of the index for each, whatever is in it.
CREATE FUNCTION counterfoil.lines(queues text[], kinds text[]) RETURNS text[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    at         CONSTANT timestamptz := counterfoil.now();
    queue_name text;
    tenant     text;
    told       text[] := '{}';
BEGIN
    FOREACH queue_name IN ARRAY queues LOOP
        tenant := '';
        LOOP
            SELECT j.tenant_id INTO tenant
              FROM counterfoil.jobs j
             WHERE j.state = 'waiting'
               AND NOT j.is_suspect
               AND j.in_line
               AND j.queue = queue_name
               AND j.tenant_id > tenant
             ORDER BY j.tenant_id
             LIMIT 1;
            EXIT WHEN NOT FOUND;
            told := told || ARRAY[ARRAY[queue_name, tenant] || ARRAY(
                SELECT counterfoil.instant_text(due.run_at)
                  FROM generate_series(1, 4) AS p(priority)
                  LEFT JOIN LATERAL (
                       SELECT j.run_at
                         FROM counterfoil.jobs j
                        WHERE j.state = 'waiting'
                          AND NOT j.is_suspect
                          AND j.in_line
                          AND j.queue = queue_name
                          AND j.tenant_id = tenant
                          AND j.priority = p.priority
                          AND j.run_at <= at
                          AND j.kind = ANY (kinds)
                        ORDER BY j.run_at
                        LIMIT 1) due ON true
                 ORDER BY p.priority)];
        END LOOP;
    END LOOP;
    RETURN told;
END
$$;

-- Births that do not say where they belong: all but those of enqueue_many.
CREATE FUNCTION counterfoil.put_in_line() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'serializable' THEN
        NEW.in_line := false;
        RETURN NEW;
    END IF;
    NEW.in_line := EXISTS (SELECT
                             FROM counterfoil.jobs j
                            WHERE j.tenant_id COLLATE "C" = NEW.tenant_id
                              AND j.queue = NEW.queue
                              AND j.state = 'waiting'
                           OFFSET 31);
    RETURN NEW;
END
$$;
CREATE TRIGGER jobs_put_in_line BEFORE INSERT ON counterfoil.jobs
    FOR EACH ROW WHEN (NEW.in_line IS NULL) EXECUTE FUNCTION counterfoil.put_in_line();
