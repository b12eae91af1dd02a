-- Every operation of fulfilment: what an entitlement remembers beside what is in force,
-- and which operations there are.

-- NULL says "none", and costs a row nothing.
ALTER TABLE counterfoil.entitlements
    ADD COLUMN upcoming         jsonb,
    ADD COLUMN paused_at        timestamptz,
    ADD COLUMN disabled_version integer,
    ADD COLUMN drifts           jsonb,
    ADD CONSTRAINT entitlements_upcoming_listed CHECK (
        jsonb_typeof(upcoming) = 'array' AND upcoming <> '[]'),
    ADD CONSTRAINT entitlements_disabled_version CHECK (
        disabled_version BETWEEN 1 AND desired_version),
    ADD CONSTRAINT entitlements_drifts_listed CHECK (
        jsonb_typeof(drifts) = 'array' AND drifts <> '[]');

ALTER TABLE counterfoil.operations
    DROP CONSTRAINT operations_operation_known,
    ADD CONSTRAINT operations_operation_known CHECK (operation IN (
        'create', 'reconcile', 'extend', 'set_limits', 'set_squads', 'enable', 'disable',
        'reset_traffic', 'pause', 'resume'));

-- Covering and carried resets look at the versions of one entitlement; two operations
-- never carry the same version.  A reconciliation moves none, and nobody looks at those.
DROP INDEX counterfoil.operations_entitlement;
CREATE UNIQUE INDEX operations_entitlement
    ON counterfoil.operations (entitlement_id, desired_version)
    WHERE operation <> 'reconcile';
-- `counterfoil why` tells of a customer's reconciliations too.
CREATE INDEX operations_reconciled ON counterfoil.operations (entitlement_id)
    WHERE operation = 'reconcile';
