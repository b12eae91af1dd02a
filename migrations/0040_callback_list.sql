-- A tenant's callbacks, the newest first: ids are made in the order of time.
CREATE INDEX provider_callbacks_tenant ON counterfoil.provider_callbacks (tenant_id, id);
