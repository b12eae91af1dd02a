-- Since when a provider sells nothing: a call that began before may still be on its way,
-- and what it asks must be looked up where it was asked.
ALTER TABLE counterfoil.goods_providers ADD COLUMN disabled_at timestamptz;
UPDATE counterfoil.goods_providers SET disabled_at = updated_at WHERE NOT is_enabled;
ALTER TABLE counterfoil.goods_providers
    ADD CONSTRAINT goods_providers_disabled_since CHECK ((disabled_at IS NULL) = is_enabled);

CREATE FUNCTION counterfoil.keep_disabled_since() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    NEW.disabled_at := CASE
        WHEN NEW.is_enabled THEN NULL
        WHEN TG_OP = 'UPDATE' AND NOT OLD.is_enabled THEN OLD.disabled_at
        ELSE counterfoil.now()
    END;
    RETURN NEW;
END
$$;
CREATE TRIGGER goods_providers_disabled BEFORE INSERT OR UPDATE ON counterfoil.goods_providers
    FOR EACH ROW EXECUTE FUNCTION counterfoil.keep_disabled_since();
