"""Whatever is asked for: complete, in order, without doubles, both ways."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from projections.queries.terms import Among, Asked, Between, Either, Missing, Term
from tests.projections.queries.asking import looking
from tests.projections.queries.things import (
    BEGAN,
    COLOURS,
    MARKS,
    SIZES,
    THINGS,
    Thing,
    add,
    population,
    stored,
)

pytestmark = pytest.mark.database

INSTANTS = st.integers(-1, 6).map(lambda n: BEGAN + timedelta(microseconds=n))
DUES = st.integers(-1, 21).map(lambda n: BEGAN + timedelta(seconds=n))


def among(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Among]:
    return st.lists(values, min_size=1, max_size=4).map(
        lambda chosen: Among(field, tuple(chosen))
    )


def between(field: str, bounds: st.SearchStrategy[Any]) -> st.SearchStrategy[Between]:
    sides = st.tuples(st.none() | bounds, st.none() | bounds)
    return sides.filter(any).map(lambda both: Between(field, *both))


TERMS = st.one_of(
    among("colour", st.sampled_from([*COLOURS, "unknown"])),
    among("size", st.sampled_from([*SIZES, 99])),
    among("mark", st.sampled_from([mark for mark in MARKS if mark])),
    between("size", st.integers(0, 4)),
    between("due", DUES),
    between("created", INSTANTS),
)
PARTS = st.one_of(TERMS, st.just(Missing("mark")), st.just(Missing("due")))
EITHER = st.lists(
    st.lists(PARTS, min_size=1, max_size=2).map(tuple), min_size=1, max_size=3
).map(lambda ways: Either("colour", tuple(ways)))
ASKED = st.builds(
    Asked,
    terms=st.lists(st.one_of(TERMS, EITHER), max_size=4).map(tuple),
    limit=st.integers(1, 9),
    is_oldest_first=st.booleans(),
)


def fits(it: Thing, term: Term | Missing) -> bool:
    """The naive reading of a term."""
    if isinstance(term, Either):
        return any(all(fits(it, part) for part in way) for way in term.ways)
    names = {"due": "due_at", "created": "created_at", "id": "stream_id"}
    value = getattr(it, names.get(term.field, term.field))
    if isinstance(term, Missing):
        return value is None
    if isinstance(term, Among):
        return value in term.values
    above = term.least is None or (value is not None and value >= term.least)
    return above and (term.below is None or (value is not None and value < term.below))


def test_pages_are_complete_in_order_and_without_doubles(
    connection: psycopg.Connection[Any],
) -> None:
    """Forwards and backwards, whichever way is taken and however short its reach."""
    add(connection, population(60))
    rows = stored(connection)

    @settings(
        max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(asked=ASKED, looked_at=st.sampled_from([1, 3, 1000]))
    def holds(asked: Asked, looked_at: int) -> None:
        listing = replace(THINGS, looked_at=looked_at)
        expected = [it for it in rows if all(fits(it, term) for term in asked.terms)]
        if asked.is_oldest_first:
            expected.reverse()
        with looking(connection) as look:
            pages = [listing.read(look, asked)]
            while pages[-1].next is not None:
                pages.append(listing.read(look, changed(asked, after=pages[-1].next)))
            assert [it for page in pages for it in page.items] == expected
            assert all(len(page.items) <= asked.limit for page in pages)
            back = list(pages[-1].items)
            before = pages[-1].prev
            while before is not None:
                page = listing.read(look, changed(asked, before=before))
                back = [*page.items, *back]
                before = page.prev
            assert back == expected

    holds()
