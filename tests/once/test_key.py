"""The header of the key: both forms are one key, and what is none is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.once.key import LONGEST, SHORTEST, read_key
from domain.errors import InvalidRequestError

VISIBLE = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E),
    min_size=SHORTEST,
    max_size=LONGEST,
)


@given(VISIBLE)
def test_a_structured_string_and_the_bare_form_are_one_key(key: str) -> None:
    string = key.replace("\\", "\\\\").replace('"', '\\"')

    assert read_key(f'"{string}"') == key
    if not key.startswith('"'):
        assert read_key(f" {key} ") == key


@given(st.text())
def test_whatever_is_told_is_a_key_or_is_refused(told: str) -> None:
    try:
        key = read_key(told)
    except InvalidRequestError:
        return
    assert SHORTEST <= len(key) <= LONGEST
    assert all("!" <= character <= "~" for character in key)


@pytest.mark.parametrize(
    "told",
    [
        "",
        "1234567",
        "x" * 129,
        "with a space",
        "naïve-key-1",
        "\x0012345678",
        '"12345678',
        '"12345678" ; p=1',
        '"1234567\\n8"',
        '"1234567"',
        f'"{"x" * 129}"',
    ],
)
def test_no_other_form_is_a_key(told: str) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        read_key(told)

    assert refusal.value.code == "invalid_idempotency_key"
    assert refusal.value.path == "Idempotency-Key"
