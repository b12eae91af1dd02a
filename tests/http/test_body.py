"""Bodies are read strictly: one value that means one thing, or a problem."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.body import DEEPEST, read
from api.http.problems.pointers import pointer
from api.http.problems.problem import ProblemError

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_json_is_read_as_it_was_meant(value: object) -> None:
    assert read(json.dumps(value).encode()) == value
    assert read(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.binary())
def test_whatever_is_sent_is_a_value_or_a_problem(body: bytes) -> None:
    refused = ""
    try:
        read(body)
    except ProblemError as error:
        refused = error.code

    assert refused in {"", "invalid_request"}


@pytest.mark.parametrize(
    ("body", "where", "rule"),
    [
        (b"", "#", "not JSON"),
        (b'{"a":1}{"b":2}', "#", "not JSON"),
        (b'{"a":1,"a":2}', "#", "given twice"),
        (b'{"a":NaN}', "#", "NaN"),
        (b'"\xff"', "#", "UTF-8"),
        (b'{"a":["\\u0000"]}', "#/a/0", "NUL"),
        (b'{"a":{"b":"\\ud800"}}', "#/a/b", "half of a character"),
        (b'{"\\ud800":1}', "#", "half of a character"),
        (b"[" * (DEEPEST + 2) + b"]" * (DEEPEST + 2), "#", "nested"),
        (b"[" * 10_000 + b"]" * 10_000, "#", "nested"),
        (b"[" * 500_000, "#", "nested"),
        (b"9" * 10_000, "#", "digits"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    body: bytes, where: str, rule: str
) -> None:
    with pytest.raises(ProblemError) as refused:
        read(body)

    (mistake,) = refused.value.mistakes
    assert mistake.pointer == where
    assert rule in mistake.detail


def test_a_pair_of_surrogates_is_one_character() -> None:
    read_one = read(b'{"a":"\\ud83d\\ude00"}')

    assert isinstance(read_one, Mapping)
    assert read_one["a"] == "\U0001f600"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("", "#"),
        ("$", "#"),
        ("orderId", "#/orderId"),
        ("$.lines[2].cost", "#/lines/2/cost"),
        ("lines[0].a/b", "#/lines/0/a~1b"),
    ],
)
def test_paths_become_pointers(path: str, told: str) -> None:
    assert pointer(path) == told
