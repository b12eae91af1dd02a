"""The kit's text of arguments is what PostgreSQL keeps of them."""

import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil._stored import as_stored, unstorable
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue

pytestmark = pytest.mark.database

ARGS = "SELECT args::text FROM counterfoil.jobs WHERE stream_id = %s"
KEPT = """
SELECT t::jsonb::text FROM unnest(%s::text[]) WITH ORDINALITY u(t, n) ORDER BY n
"""

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
)
# Larger numbers are refused by the front door.
numbers = st.integers(-(10**40), 10**40) | st.floats(-1e299, 1e299)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(many=st.lists(st.dictionaries(texts, json_values, max_size=5), max_size=20))
def test_arguments_read_as_postgresql_keeps_them(
    database: TestDatabase, many: list[dict[str, object]]
) -> None:
    connection = database.connect()

    told = [json.dumps(args) for args in many]
    kept = connection.execute(KEPT, (told,)).fetchall()

    assert [text for (text,) in kept] == [as_stored(args) for args in many]


class Args(msgspec.Struct):
    at: datetime
    names: dict[str, float]


def test_a_struct_is_kept_as_the_client_sends_it(database: TestDatabase) -> None:
    connection = database.connect()
    args = Args(
        datetime(2026, 8, 1, tzinfo=UTC), {"longer": 1e22, "b": 1e-7, "a": -0.0}
    )
    text = as_stored(args)

    job = enqueue(connection, "acme", args=json.loads(text))

    assert connection.execute(ARGS, (job,)).fetchall() == [(text,)]
    assert json.loads(text)["names"] == {"a": 0.0, "b": 1e-7, "longer": 10**22}


@pytest.mark.parametrize("result", [{}, {"a": [1, {"b": "c"}], "ё": None}])
def test_a_plain_result_can_be_stored(result: dict[str, object]) -> None:
    assert unstorable(result) is None


def test_what_cannot_be_stored_is_named() -> None:
    assert unstorable({"a": [1, {"b": "\0"}]}) == (
        "result.a[1].b: NUL in a text cannot be stored"
    )
