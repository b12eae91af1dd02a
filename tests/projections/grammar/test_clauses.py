"""A filter is read as it was written, and written as it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.queries.grammar.clauses import (
    MOST_CHARACTERS,
    Clause,
    Sign,
    parse,
    printed,
)
from projections.queries.grammar.errors import InvalidFilterError

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_.]{0,20}", fullmatch=True)
VALUES = st.text(max_size=20)
SIGNS: tuple[Sign, ...] = (">=", ">", "<=", "<")
CLAUSES = st.one_of(
    st.builds(
        Clause,
        name=NAMES,
        values=st.lists(VALUES, min_size=1, max_size=3).map(tuple),
        is_negated=st.booleans(),
    ),
    st.builds(
        Clause,
        name=NAMES,
        values=VALUES.map(lambda value: (value,)),
        sign=st.sampled_from(SIGNS),
        is_negated=st.booleans(),
    ),
)
LIKE_FILTERS = st.text(alphabet='ab:,-"\\<>=. \t\u00a0\x00é', max_size=40)


@given(st.lists(CLAUSES, max_size=12).map(tuple))
def test_what_is_printed_is_read_back(clauses: tuple[Clause, ...]) -> None:
    assert parse(printed(clauses)) == clauses


@given(st.one_of(st.text(), LIKE_FILTERS))
def test_any_text_is_a_filter_or_is_refused_as_one(text: str) -> None:
    try:
        clauses = parse(text)
    except InvalidFilterError as error:
        str(error).encode()  # what is told of it can be told
        return
    assert parse(printed(clauses)) == clauses


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("", ()),
        ("  ", ()),
        ("state:failed", (Clause(name="state", values=("failed",)),)),
        ("kind:a,b", (Clause(name="kind", values=("a", "b")),)),
        ("age:>=7d", (Clause(name="age", values=("7d",), sign=">="),)),
        ("-queue:bulk", (Clause(name="queue", values=("bulk",), is_negated=True),)),
        ("kind:-1", (Clause(name="kind", values=("-1",)),)),
        ("order:shop:1=2", (Clause(name="order", values=("shop:1=2",)),)),
        (
            'order:"a b","say \\"hi\\", \\\\"',
            (Clause(name="order", values=("a b", 'say "hi", \\')),),
        ),
        (
            " a:1 \t b:2\n",
            (Clause(name="a", values=("1",)), Clause(name="b", values=("2",))),
        ),
    ],
)
def test_the_forms(text: str, clauses: tuple[Clause, ...]) -> None:
    assert parse(text) == clauses


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("failed", "'failed': write it as field:value"),
        ("a:1 AND b:2", "'AND': write it as"),
        ("--a:1", "write it as"),
        ("a:", "a value is missing"),
        ("a:1,", "a value is missing"),
        ("a:,1", "a value is missing"),
        ('a:"b', "a quote is not closed"),
        ('a:"\\n"', "a quote is not closed"),
        ('a:b"c"', "is written in quotes"),
        ('a:"b"c', "is written in quotes"),
        ("a:>=1,2", "a bound is one value"),
        ("a:>>1", "a value is missing"),
        ("a:" + ",".join(["x"] * 101), "at most 100 values"),
        (" ".join(["a:1"] * 13), "at most 12 terms"),
        ("a:" + "x" * MOST_CHARACTERS, "at most 2,000 characters"),
    ],
)
def test_what_is_refused_is_told_with_the_rule(text: str, told: str) -> None:
    with pytest.raises(InvalidFilterError) as raised:
        parse(text)

    assert raised.value.code == "invalid_filter"
    assert told in raised.value.detail


def test_a_long_term_is_told_in_part() -> None:
    with pytest.raises(InvalidFilterError) as raised:
        parse("x" * 500)

    assert len(raised.value.term) == 80
