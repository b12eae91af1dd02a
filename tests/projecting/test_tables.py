"""A table that is not what its projection writes is told by name, before a batch."""

import re

import pytest

from infrastructure.postgres.database import connect
from infrastructure.projecting.table import ReadModelMismatchError, read_table
from projections.read_models.all import ALL
from projections.read_models.jobs import Jobs
from projections.read_models.slots import SLOTS
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database


def test_every_projection_has_both_of_its_tables(database: TestDatabase) -> None:
    with connect(database.conninfo) as connection:
        for projection in ALL:
            for slot in SLOTS:
                read_table(connection, projection, slot)  # raises what does not fit


MISMATCHES = {
    "DROP TABLE counterfoil.read_jobs_a": "there is no such table",
    "ALTER TABLE counterfoil.read_jobs_a DROP gate": "lacks gate",
    "ALTER TABLE counterfoil.read_jobs_a ADD mood text": "has mood besides",
    "ALTER TABLE counterfoil.read_jobs_a RENAME gate TO door": (
        "lacks gate and has door besides"
    ),
    "ALTER TABLE counterfoil.read_jobs_a ALTER gate TYPE varchar(9)": (
        "column gate is of type character varying(9)"
    ),
    """
    ALTER TABLE counterfoil.read_jobs_a DROP order_id, DROP order_stream_id;
    ALTER TABLE counterfoil.read_jobs_a ADD order_id text, ADD order_stream_id uuid
    """: "its columns are in another order",
}


@pytest.mark.parametrize(("change", "problem"), MISMATCHES.items(), ids=range(6))
def test_what_does_not_fit_is_named(
    change: str, problem: str, database: TestDatabase
) -> None:
    with connect(database.conninfo) as connection:
        connection.execute(change.encode())

        with pytest.raises(ReadModelMismatchError, match=re.escape(problem)) as told:
            read_table(connection, Jobs(), "a")

    assert "counterfoil.read_jobs_a" in str(told.value)
    assert "counterfoil migrate" in str(told.value)
