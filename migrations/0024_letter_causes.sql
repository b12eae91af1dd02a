-- Causes of dead letters are counted in their indexes alone: for an expression the rows
-- would be looked at as well, unless the column that it is made of is in the index.

DO $do$
DECLARE
    slot text;
BEGIN
    FOREACH slot IN ARRAY ARRAY['a', 'b'] LOOP
        EXECUTE format($sql$
            DROP INDEX counterfoil.read_dead_letters_%1$s_cause;
            CREATE INDEX read_dead_letters_%1$s_cause
                ON counterfoil.read_dead_letters_%1$s (kind, code, (coalesce(error_code, '')), died_at, stream_id)
                INCLUDE (error_code, stream_kind)
                WHERE state = 'open';
            DROP INDEX counterfoil.read_dead_letters_%1$s_tenant_cause;
            CREATE INDEX read_dead_letters_%1$s_tenant_cause
                ON counterfoil.read_dead_letters_%1$s (tenant_id, kind, code, (coalesce(error_code, '')), died_at, stream_id)
                INCLUDE (error_code, stream_kind)
                WHERE state = 'open';
        $sql$, slot);
    END LOOP;
END
$do$;
