"""A cursor is what was told, or it is refused."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from api.http.lists.cursors import Cursor, Scope, seal, unseal
from api.http.problems.problem import ProblemError

SECRET = b"s" * 32
SCOPE = Scope(of="jobs", tenant_id="default", filter="state:running", sort="-createdAt")
CURSORS = st.builds(
    Cursor,
    place=st.text(max_size=80),
    is_back=st.booleans(),
    position=st.integers(0, (1 << 63) - 1),
)


@given(cursor=CURSORS)
def test_what_was_told_is_read_back(cursor: Cursor) -> None:
    assert unseal(seal(cursor, SCOPE, SECRET), SCOPE, SECRET) == cursor


@given(cursor=CURSORS, at=st.integers(0), bit=st.integers(0, 7))
def test_whoever_changes_a_bit_is_refused(cursor: Cursor, at: int, bit: int) -> None:
    text = seal(cursor, SCOPE, SECRET)
    raw = bytearray(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    raw[at % len(raw)] ^= 1 << bit

    with pytest.raises(ProblemError) as raised:
        unseal(urlsafe_b64encode(bytes(raw)).decode(), SCOPE, SECRET)
    assert raised.value.code == "invalid_cursor"


@given(
    text=st.text() | st.binary(max_size=60).map(lambda b: urlsafe_b64encode(b).decode())
)
def test_whatever_else_is_given_is_refused(text: str) -> None:
    with pytest.raises(ProblemError) as raised:
        unseal(text, SCOPE, SECRET)
    assert raised.value.code == "invalid_cursor"


@given(
    cursor=CURSORS,
    other=st.builds(
        Scope, of=st.text(), tenant_id=st.text(), filter=st.text(), sort=st.text()
    ),
)
def test_a_cursor_is_of_no_other_list(cursor: Cursor, other: Scope) -> None:
    assume(other != SCOPE)

    with pytest.raises(ProblemError, match="another filter, order or list"):
        unseal(seal(cursor, SCOPE, SECRET), other, SECRET)


@pytest.mark.parametrize("member", ["of", "tenant_id", "filter", "sort"])
def test_each_member_of_the_scope_counts(member: str) -> None:
    cursor = Cursor(place="a", is_back=False, position=7)

    with pytest.raises(ProblemError, match="another filter, order or list"):
        unseal(seal(cursor, SCOPE, SECRET), replace(SCOPE, **{member: "x"}), SECRET)


def test_another_installation_has_told_it() -> None:
    cursor = Cursor(place="a", is_back=False, position=7)

    with pytest.raises(ProblemError, match="not one that a page"):
        unseal(seal(cursor, SCOPE, b"other"), SCOPE, SECRET)
