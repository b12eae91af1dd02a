-- One row of the audit tells an action whole: as whom, in which category, before and after.
--
-- What an action wrote besides is its parts. Of what was written before, every row stands
-- for itself, so the rows that are there are what the new fold makes of the same events.

DO $audit$
DECLARE
    slot   text;
    wanted record;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        EXECUTE format($sql$
            ALTER TABLE counterfoil.read_audit_%1$s
                ADD COLUMN role     text,
                ADD COLUMN category text,
                ADD COLUMN is_part  boolean NOT NULL DEFAULT false,
                ADD COLUMN before   jsonb,
                ADD COLUMN after    jsonb
        $sql$, slot);
        -- The column that is asked for, then the list's order.
        FOR wanted IN
            SELECT *
              FROM (VALUES
                ('category', 'category, position', 'category IS NOT NULL'),
                ('is_part', 'is_part, position', ''),
                -- An action with its parts.
                ('commit_id', 'commit_id, position', 'commit_id IS NOT NULL')
              ) AS each(name, columns, condition)
        LOOP
            EXECUTE format('CREATE INDEX %I ON counterfoil.%I (%s)%s',
                           format('read_audit_%s_%s', slot, wanted.name),
                           format('read_audit_%s', slot),
                           wanted.columns,
                           CASE WHEN wanted.condition <> '' THEN ' WHERE ' || wanted.condition ELSE '' END);
        END LOOP;
    END LOOP;
END
$audit$;

UPDATE counterfoil.projections
   SET schema = 3
 WHERE name = 'audit'
   AND schema = 2;
