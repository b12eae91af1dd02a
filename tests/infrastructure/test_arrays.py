"""Arrays packed by us are what PostgreSQL reads."""

import struct
import time
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.postgres.arrays import IntArray, UuidArray
from infrastructure.postgres.database import connect
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase

one_database = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ON_BOTH_SERVERS
@one_database
@given(
    ids=st.lists(st.uuids(), max_size=600),
    numbers=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=600),
)
def test_packed_arrays_arrive_as_they_were(
    ids: list[UUID], numbers: list[int], database: TestDatabase
) -> None:
    with connect(database.conninfo) as connection:
        row = connection.execute(
            "SELECT %(ids)b::uuid[], %(numbers)b::int[]",
            {"ids": UuidArray.of(ids), "numbers": IntArray(numbers)},
        ).fetchone()

    assert row == (ids, numbers)


@ON_BOTH_SERVERS
def test_new_ids_are_uuids_of_version_7_and_of_now(database: TestDatabase) -> None:
    before = time.time_ns() // 1_000_000
    with connect(database.conninfo) as connection:
        row = connection.execute(
            "SELECT %(ids)b::uuid[]", {"ids": UuidArray.new(1_000)}
        ).fetchone()
    after = time.time_ns() // 1_000_000

    assert row is not None
    ids = row[0]
    assert isinstance(ids, list)
    assert len(set(ids)) == 1_000
    for each in ids:
        assert (each.version, each.variant) == (7, "specified in RFC 4122")
        assert before <= each.int >> 80 <= after


def test_a_number_that_does_not_fit_is_refused_before_it_is_sent() -> None:
    with pytest.raises(struct.error):
        IntArray([2**31])
