"""`If-Match` has one reader, with the edges of RFC 9110."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.contract.listing import Operation
from api.http.route import Match
from api.http.surface import Surface
from api.http.wire.match import UnreadableError, etag, versions_in
from application.unit import Versions
from domain.access.permissions import EVERY
from domain.access.roles import Role
from tests.fixtures.http import Api
from tests.http.access.matrix import CLOSED, Asked, Question, person, program

WHAT = "job_0197d3a0-0000-7000-8000-000000000000"
OTHERS = (
    "op_0197d3a0-0000-7000-8000-000000000000",
    "0197d3a0-0000-7000-8000-000000000000",
    "job_0197D3A0-0000-7000-8000-000000000000",
    "",
)
MATCHED = [each for each in CLOSED if each.declared.match is not Match.NONE]

versions = st.integers(0, 10**18 - 1)
spaces = st.text(" \t", max_size=2)
gaps = st.builds("".join, st.lists(st.sampled_from([" ", "\t", ","]), max_size=4))
opaque = st.text([chr(n) for n in (0x21, *range(0x23, 0x7F), *range(0x80, 0x100))])
mine = st.builds(etag, st.just(WHAT), versions)
nobodys = st.one_of(
    st.builds(etag, st.sampled_from(OTHERS), versions),
    st.builds(lambda n: "W/" + etag(WHAT, n), versions),
    st.builds(lambda n: f'"{WHAT}:0{n}"', versions),
    st.builds(lambda text: f'"{text}"', opaque),
)


@st.composite
def lists(draw: st.DrawFn) -> tuple[str, frozenset[int]]:
    """Return a list of tags, and the versions of ours that it names."""
    told, named = draw(gaps), frozenset[int]()
    ours, others = draw(st.sets(mine)), draw(st.sets(nobodys))
    for n, tag in enumerate(draw(st.permutations([*ours, *(others - ours)]))):
        told += ("," if n else "") + draw(gaps) + tag + draw(spaces)
        named |= {int(tag.rpartition(":")[2][:-1])} if tag in ours else frozenset()
    return told, named


@given(lists())
def test_a_list_names_the_strong_tags_of_the_thing(
    told: tuple[str, frozenset[int]],
) -> None:
    assert versions_in(told[0], WHAT) == told[1]


@given(st.text(st.characters(codec="latin-1")))
def test_whatever_is_sent_is_read_or_refused(text: str) -> None:
    with suppress(UnreadableError):
        assert versions_in(text, WHAT) in {None, frozenset()}


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ("*", None),
        (" *\t", None),
        ("", frozenset()),
        (f'"{WHAT}:3"', frozenset({3})),
        (f'"{WHAT}:3" ,, "{WHAT}:4",', frozenset({3, 4})),
        (f'W/"{WHAT}:3"', frozenset()),
        (f'"{WHAT}:-3", "{WHAT}:", "{WHAT}", ""', frozenset()),
        (f'"{WHAT}:{10**18}"', frozenset()),
        (f'"{WHAT}:٣"'.encode().decode("latin-1"), frozenset()),
    ],
)
def test_an_edge_is_as_the_rfc_says(told: str, named: Versions) -> None:
    assert versions_in(told, WHAT) == named


@pytest.mark.parametrize(
    "told",
    [
        f"{WHAT}:3",
        f'"{WHAT}:3',
        f'w/"{WHAT}:3"',
        f'W/ "{WHAT}:3"',
        f'*, "{WHAT}:3"',
        "*, *",
        f'"{WHAT}:3" "{WHAT}:4"',
        '"a b"',
        '"a"x',
    ],
)
def test_what_is_no_list_of_tags_is_refused(told: str) -> None:
    with pytest.raises(UnreadableError):
        versions_in(told, WHAT)


@pytest.mark.database
def test_every_route_reads_it_alike(api: Api) -> None:
    """Before it looks for the thing: nobody's id will do."""
    asked = Asked(api.services)
    shown = {
        surface: asked.known.knows(
            surface,
            person(Role.OWNER, EVERY)
            if surface is Surface.PANEL
            else program(surface, *EVERY),
        )
        for surface in (Surface.SHOPS, Surface.ADMIN, Surface.PANEL)
    }

    def sent(operation: Operation, value: str) -> Question:
        body = EXAMPLES.get(operation.handler.fn.__name__)
        question = asked.ask(operation, shown[operation.surface], body=body)
        headers = dict(question.headers) | {"if-match": value}
        return replace(question, headers=headers)

    unread = asked.answers([sent(each, "unquoted") for each in MATCHED])
    several = asked.answers([sent(each, 'W/"a", "b:1"') for each in MATCHED])

    assert len(MATCHED) > 20
    for told in unread:
        assert (told.status, told.code) == (400, "invalid_request"), told
        assert b'"If-Match"' in told.body
    # The thing is not there, and what is not there is not changed.
    assert {it.code for it in several} <= {"not_found", "precondition_failed"}


EXAMPLES = {
    "snooze_job": {"until": "2999-01-01T00:00:00Z"},
    "decide_delivery": {"verdict": "delivered", "evidence": "the ledger has it"},
    "limit_queue": {"concurrency": 3},
    "pause_queue": {"expiresAt": "2999-01-01T00:00:00Z"},
}
