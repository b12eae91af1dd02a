"""A small set of migrations that tests may change."""

from pathlib import Path

import pytest

FIRST = """-- The clock, and a table.
CREATE FUNCTION counterfoil.now() RETURNS timestamptz LANGUAGE sql STABLE
AS $$ SELECT clock_timestamp() $$;

CREATE TABLE counterfoil.parcels (
    parcel_id bigint NOT NULL CONSTRAINT parcels_pkey PRIMARY KEY,
    weight_g  integer NOT NULL DEFAULT 0,
    CONSTRAINT parcels_weigh_something CHECK (weight_g >= 0)
) WITH (fillfactor = 70);
"""
SECOND = """-- Where parcels go.
ALTER TABLE counterfoil.parcels ADD COLUMN place text;
CREATE INDEX parcels_by_place ON counterfoil.parcels (place);
CREATE SEQUENCE counterfoil.parcel_numbers CACHE 1;
CREATE VIEW counterfoil.light AS SELECT * FROM counterfoil.parcels WHERE weight_g < 100;
"""
THIRD = """-- What may not be done to them.
CREATE FUNCTION counterfoil.refuse() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
CREATE TRIGGER no_delete BEFORE DELETE ON counterfoil.parcels
FOR EACH ROW EXECUTE FUNCTION counterfoil.refuse();
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three migrations in a folder of this test's own."""
    files = {
        "0001_parcels.sql": FIRST,
        "0002_places.sql": SECOND,
        "0003_rules.sql": THIRD,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path
