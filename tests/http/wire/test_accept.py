"""An answer in a form that nobody takes is refused before anything is done."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.problems.problem import ProblemError
from api.http.wire.accept import refuse_unacceptable

JSON = ("application/json",)
FILES = ("application/pdf", "image/png")


@pytest.mark.parametrize(
    ("accept", "offered"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/json", JSON),
        ("Application/JSON ; q=0.1", JSON),
        ("text/html, application/xhtml+xml, */*;q=0.8", JSON),
        ("text/html;q=1.0, application/*;q=0.001", JSON),
        ("application/json;profile=x;q=1", JSON),
        ("image/*", FILES),
        ("text/event-stream", ("text/event-stream",)),
    ],
)
def test_who_takes_what_there_is_is_served(
    accept: str | None, offered: tuple[str, ...]
) -> None:
    refuse_unacceptable(accept, offered)


@pytest.mark.parametrize(
    ("accept", "offered"),
    [
        ("text/html", JSON),
        ("application/xml, text/*", JSON),
        ("application/json;q=0", JSON),
        ("*/*; q=0.000", JSON),
        ("application/json", FILES),
        ("application/jsonp", JSON),
        (",;,", JSON),
    ],
)
def test_who_takes_none_of_it_is_told(accept: str, offered: tuple[str, ...]) -> None:
    with pytest.raises(ProblemError) as refused:
        refuse_unacceptable(accept, offered)

    assert refused.value.code == "not_acceptable"
    assert offered[0] in str(refused.value)


@given(st.text())
def test_whatever_is_sent_is_taken_or_refused(accept: str) -> None:
    with suppress(ProblemError):
        refuse_unacceptable(accept, JSON)
