-- What people say of dead letters, and that they move jobs which wait.

DO $letters$
DECLARE
    slot text;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        EXECUTE format($sql$
            ALTER TABLE counterfoil.read_dead_letters_%1$s
                ADD COLUMN acknowledged_at timestamptz,
                ADD COLUMN acknowledged_by text
        $sql$, slot);
    END LOOP;
END
$letters$;

-- They fold events from now on that the log does not hold yet: their rows are what the new
-- folds make of it, and nobody has to rebuild them; processes of the earlier version, which
-- would step over such events, leave them alone from here on.
UPDATE counterfoil.projections
   SET schema = 3
 WHERE name IN ('jobs', 'attempts', 'dead_letters')
   AND schema = 2;

-- An operation that waits for its next attempt is retried as well: it is due now.
CREATE OR REPLACE FUNCTION counterfoil.refuse_revival() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    PERFORM 1
       FROM counterfoil.events e
      WHERE e.stream_id = NEW.stream_id
        AND e.version = NEW.version - 1
        AND (e.type IN ('job.discarded', 'job.cancelled', 'fulfillment.failed')
             OR NEW.type = 'fulfillment.retried'
                AND e.type IN ('fulfillment.attempt_failed', 'fulfillment.interrupted',
                               'fulfillment.parked'));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'state_conflict: only a dead stream is retried'
            USING ERRCODE = 'CF409', HINT = 'state_conflict';
    END IF;
    RETURN NEW;
END
$$;
