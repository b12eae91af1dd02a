-- Files that people have uploaded to show what became of a purchase.
--
-- A file lies under its digest in the folder `evidence` of the data directory, and is on
-- the disk before its row is committed: a row names a file that is there, and a crash
-- between the two leaves a file that nobody names.
CREATE TABLE counterfoil.delivery_evidence (
    tenant_id   text        NOT NULL,
    delivery_id uuid        NOT NULL,
    sha256      bytea       NOT NULL,
    size_bytes  integer     NOT NULL,
    -- What its first bytes say, whatever whoever sent it has said.
    media_type  text        NOT NULL,
    added_by    text        NOT NULL,
    added_at    timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT delivery_evidence_pkey PRIMARY KEY (delivery_id, sha256),
    CONSTRAINT delivery_evidence_hashed CHECK (octet_length(sha256) = 32),
    CONSTRAINT delivery_evidence_bounded CHECK (size_bytes BETWEEN 1 AND 5242880),
    CONSTRAINT delivery_evidence_media_known CHECK (media_type IN (
        'application/pdf', 'image/gif', 'image/jpeg', 'image/png', 'image/webp', 'text/plain'))
);
CREATE TRIGGER delivery_evidence_stays BEFORE UPDATE OR DELETE ON counterfoil.delivery_evidence
    FOR EACH ROW EXECUTE FUNCTION counterfoil.refuse_change();

-- Which folder holds the evidence: the API that starts first has made it or found it, and
-- whoever has another one does not start.
ALTER TABLE counterfoil.installation ADD COLUMN evidence_folder uuid;
