-- A panel user of the earlier product is adopted once: its name is half of a customer's
-- id, so two customers or two tenants could come for the same one. Where two have come
-- already this stops the migration and names them: one has to be given another user.
DROP INDEX counterfoil.entitlements_legacy_username;
CREATE UNIQUE INDEX entitlements_legacy_username
    ON counterfoil.entitlements (legacy_username)
    WHERE legacy_username IS NOT NULL;
