"""A value goes into a column as it comes back, or is refused before it is sent."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.postgres.database import Connection, connect
from infrastructure.projecting.columns import TYPES, UNFIT_ERRORS, ColumnArray
from tests.fixtures.database import TestDatabase
from tests.log.door.generated import INSTANTS, JSON, TEXT

pytestmark = pytest.mark.database

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "uuid": st.uuids(),
    "text": TEXT,
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double precision": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "timestamp with time zone": INSTANTS,
    "jsonb": st.dictionaries(TEXT, JSON, max_size=3),
}
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
TOO_EARLY = datetime.min.replace(tzinfo=EAST)
TOO_LATE = datetime.max.replace(tzinfo=WEST)
UNFIT: list[tuple[str, object]] = [
    ("smallint", 2**15),
    ("integer", -(2**31) - 1),
    ("bigint", 2**63),
    ("text", "\ud800"),
    ("text", 7),
    ("uuid", "7"),
    (
        "timestamp with time zone",
        TOO_EARLY,
    ),
    (
        "timestamp with time zone",
        TOO_LATE,
    ),
    ("timestamp with time zone", datetime(2026, 1, 1)),  # noqa: DTZ001 - the point
    ("jsonb", {"a": object()}),
]


@pytest.fixture
def connection(database: TestDatabase) -> Iterator[Connection]:
    with connect(database.conninfo) as opened:
        yield opened


def test_every_type_has_its_values() -> None:
    assert set(VALUES) == set(TYPES)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_goes_in_comes_back(
    name: str, data: st.DataObject, connection: Connection
) -> None:
    values = data.draw(st.lists(st.none() | VALUES[name], max_size=5))
    kind = TYPES[name]

    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute(
            f"SELECT v FROM unnest(%(c)b::{kind.array}) AS v",  # noqa: S608 - a type's name
            {"c": ColumnArray(kind, values)},
        ).fetchall()

    assert [row[0] for row in rows] == values


@pytest.mark.parametrize(("name", "value"), UNFIT)
def test_what_no_column_holds_is_never_sent(name: str, value: object) -> None:
    with pytest.raises(UNFIT_ERRORS):
        ColumnArray(TYPES[name], [value])


def test_an_instant_is_the_same_wherever_it_was_told() -> None:
    kind = TYPES["timestamp with time zone"]
    here = datetime(2026, 3, 1, 12, tzinfo=UTC)
    there = here.astimezone(timezone(timedelta(hours=5, minutes=30)))

    assert ColumnArray(kind, [here]).packed == ColumnArray(kind, [there]).packed
