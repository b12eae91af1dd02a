-- Storage: every index has its user (tests/performance), every table its way of being
-- cleaned. What was measured, and what was tried and not kept, is in docs/performance.md.

-- Most jobs have no unique key, and need no entry for it. Whoever infers this index says
-- its predicate: ON CONFLICT (tenant_id, unique_key) WHERE unique_key IS NOT NULL.
DROP INDEX counterfoil.jobs_unique_key;
CREATE UNIQUE INDEX jobs_unique_key ON counterfoil.jobs (tenant_id, unique_key)
    WHERE unique_key IS NOT NULL;
DROP INDEX counterfoil.jobs_dead_unique_key;
CREATE INDEX jobs_dead_unique_key ON counterfoil.jobs_dead (tenant_id, unique_key)
    WHERE unique_key IS NOT NULL;

-- Dead jobs are listed by their id; nobody asks by when they died.
DROP INDEX counterfoil.jobs_dead_died_at;

-- A message is found by its position: messages are sent in that order, and it says "one
-- message per event". Ids are made to be unique, and rise: for whoever looks one up, a
-- block-range index will do, which costs the writers nothing.
ALTER TABLE counterfoil.outbox DROP CONSTRAINT outbox_pkey;
ALTER TABLE counterfoil.outbox ADD CONSTRAINT outbox_pkey PRIMARY KEY USING INDEX outbox_position;

-- `counterfoil why` starts from an order, a customer or the name of a panel user.
CREATE INDEX orders_customer ON counterfoil.orders (tenant_id, customer_id);
CREATE INDEX operations_order ON counterfoil.operations (order_stream_id)
    WHERE order_stream_id IS NOT NULL;
CREATE INDEX entitlements_legacy_username ON counterfoil.entitlements (legacy_username)
    WHERE legacy_username IS NOT NULL;

-- Two updates per order, which name no indexed column: with room in the page they are
-- HOT (41 of 100 were not).
ALTER TABLE counterfoil.entitlements SET (fillfactor = 70);

-- Cutting off the empty end of a drained queue takes a lock that stops every claim, to
-- give back what the next jobs will need again.
ALTER TABLE counterfoil.jobs SET (vacuum_truncate = false);

-- Where rows are only added, a share of all rows is too many at once: what was written
-- since the last time shall still be in memory.
ALTER TABLE counterfoil.events SET (
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 1000000
);
ALTER TABLE counterfoil.outbox SET (
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 1000000
);
