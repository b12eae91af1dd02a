"""What may be sent to PostgreSQL as JSON."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidRequestError
from domain.plain_json import DEEPEST, cleaned, plain
from domain.text import clean

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
    | st.uuids(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
)


@given(anything)
def test_whatever_is_given_is_storable_or_refused(value: object) -> None:
    try:
        told = json.dumps(plain(value))
    except InvalidRequestError:
        return

    assert "\\u0000" not in told.replace("\\\\", "")
    assert json.loads(told) == plain(value)
    told.encode()


def test_instants_and_ids_become_text() -> None:
    at = datetime(2030, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))

    assert plain({"at": at, "id": UUID(int=1), "list": (1, 2)}) == {
        "at": "2030-01-01T00:00:00+00:00",
        "id": "00000000-0000-0000-0000-000000000001",
        "list": [1, 2],
    }


def test_text_of_several_planes_passes() -> None:
    assert plain("🎁 é漢\ufeff") == "🎁 é漢\ufeff"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {"b": [0, "\x00"]}}, "a.b[1]"),
        ({"a": "\ud83d\ude00"}, "a"),
        ({"a": datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)}, "a"),
        ({"a": float("inf")}, "a"),
        ({"a": 10**301}, "a"),
        ({"a": b"x"}, "a"),
        ({"x\x00": 1}, "x\ufffd"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_its_path(value: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        plain(value)

    assert refused.value.path == path


def test_nesting_has_an_end() -> None:
    deep: object = 1
    for _ in range(DEEPEST):
        deep = [deep]
    plain(deep)

    with pytest.raises(InvalidRequestError, match="nested"):
        plain([deep])


@given(anything)
def test_cleaned_text_is_storable_and_everything_else_stays(value: object) -> None:
    once = cleaned(value)

    assert not [text for text in texts_of(once) if text != clean(text)]
    assert repr(cleaned(once)) == repr(once)


def texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from (*texts_of(name), *texts_of(member))
    elif isinstance(value, list):
        for member in value:
            yield from texts_of(member)


def test_what_is_too_deep_is_not_cleaned_for_ever() -> None:
    value: list[object] = []
    value.append(value)

    with pytest.raises(ValueError, match="at most 64 deep"):
        cleaned(value)
