-- Maintenance by hand: windows, and the gates that the open ones close.

-- One row a window, open or closed.  A window is the whole installation's, whatever
-- tenant its row names.
CREATE TABLE counterfoil.maintenance (
    stream_id       uuid        NOT NULL,
    tenant_id       text        NOT NULL,
    version         integer     NOT NULL,
    state           text        NOT NULL,
    scope           text        NOT NULL,
    source          text        NOT NULL,
    reason          text        NOT NULL,
    notice_ru       text        NOT NULL,
    notice_en       text        NOT NULL,
    expected_return timestamptz,
    -- birth columns
    correlation_id  text        NOT NULL,
    opened_by       text        NOT NULL,
    opened_at       timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT maintenance_pkey PRIMARY KEY (stream_id),
    CONSTRAINT maintenance_state_known CHECK (state IN ('open', 'closed')),
    CONSTRAINT maintenance_scope_known CHECK (scope IN ('panel', 'all')),
    CONSTRAINT maintenance_source_known CHECK (source IN ('manual')),
    CONSTRAINT maintenance_texts_told CHECK (
        length(reason) BETWEEN 1 AND 200
        AND length(notice_ru) BETWEEN 1 AND 1000
        AND length(notice_en) BETWEEN 1 AND 1000)
);
-- At most one open window per scope, and the gates that are closed.
CREATE UNIQUE INDEX maintenance_one_open ON counterfoil.maintenance (scope) WHERE state = 'open';

-- Final is final (I6), and a head stays.
CREATE TRIGGER maintenance_final BEFORE UPDATE ON counterfoil.maintenance
    FOR EACH ROW WHEN (OLD.state = 'closed')
    EXECUTE FUNCTION counterfoil.refuse_leaving_final();
CREATE TRIGGER maintenance_kept BEFORE DELETE OR TRUNCATE ON counterfoil.maintenance
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_change();

-- Gate g is closed when a row says g or 'all'; nothing else holds that truth.
CREATE VIEW counterfoil.gates AS
SELECT scope AS gate, 'maintenance_active'::text AS cause, opened_at AS since
  FROM counterfoil.maintenance
 WHERE state = 'open';
