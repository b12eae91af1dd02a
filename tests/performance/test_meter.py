"""The meter sees what a change of the product would cost."""

import pytest

from tests.fixtures.database import TestDatabase
from tests.performance.meter import Cost, Meter

pytestmark = pytest.mark.database


def test_every_message_row_and_index_entry_is_seen(
    counted: TestDatabase, meter: Meter
) -> None:
    connection = counted.connect()
    connection.execute("CREATE TABLE book (line text PRIMARY KEY)")
    connection.execute("CREATE INDEX ON book (length(line))")

    with meter.measuring():
        connection.execute("BEGIN; INSERT INTO book VALUES ('a'), ('b')")
        connection.execute("DELETE FROM book WHERE line = 'a'")
        connection.execute("COMMIT")

    seen = meter.cost
    assert (seen.statements, seen.round_trips, seen.commits) == (4, 3, 1)
    assert (seen.rows, seen.index_entries) == (3, 4)
    assert 250 < seen.wal_bytes < 1_000


def test_what_passes_by_another_way_is_no_message(
    database: TestDatabase, meter: Meter
) -> None:
    connection = database.connect()

    with meter.measuring():
        connection.execute("SELECT 1")

    assert meter.cost == Cost()


def test_what_costs_more_than_it_may_is_named() -> None:
    most = Cost(statements=1, rows=2)

    assert not Cost(statements=100, rows=200).per(100).above(most)
    assert Cost(statements=1, rows=2.5).above(most) == ["rows: 2.50 > 2"]
