"""Packed arrays mean to PostgreSQL what a list would."""

from infrastructure.ids import new_id
from infrastructure.postgres.arrays import IntArray, SmallIntArray, TextArray, UuidArray
from tests.fixtures.database import TestDatabase

READ = """
SELECT %(ids)b::uuid[], %(numbers)b::int[], %(small)b::smallint[], %(texts)b::text[]
"""


def test_what_is_packed_is_what_is_read(database: TestDatabase) -> None:
    ids = [new_id(), new_id()]
    packed = {
        "ids": UuidArray.of(ids),
        "numbers": IntArray([-1, 2_147_483_647]),
        "small": SmallIntArray([1, -32_768]),
        "texts": TextArray(["é".encode(), None, b"", b'a,"{}']),
    }

    row = database.connect().execute(READ, packed).fetchone()

    assert row == (ids, [-1, 2_147_483_647], [1, -32_768], ["é", None, "", 'a,"{}'])


def test_empty_arrays_are_empty(database: TestDatabase) -> None:
    packed = {
        "ids": UuidArray([]),
        "numbers": IntArray([]),
        "small": SmallIntArray([]),
        "texts": TextArray([]),
    }

    row = database.connect().execute(READ, packed).fetchone()

    assert row == ([], [], [], [])
