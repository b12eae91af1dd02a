"""Names, passwords and cookies of people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.access.people import (
    LONGEST_TYPED,
    check_password,
    counted,
    csrf_of,
    name_of,
    session_secret,
    site_of,
)
from domain.errors import InvalidRequestError

secrets = st.binary(min_size=32, max_size=32)


@given(st.text())
def test_a_name_has_one_form(typed: str) -> None:
    name = name_of(typed)

    assert name is None or name_of(name) == name_of(f" {name.upper()} ") == name


@given(st.text(max_size=LONGEST_TYPED + 10))
def test_whatever_is_typed_is_a_password_or_refused(password: str) -> None:
    try:
        told = check_password(password, "grace")
    except InvalidRequestError as refusal:
        told = ""
        where = refusal.path
    else:
        where = ""

    assert (12 <= len(told) <= 256) is not (where == "password")


def test_a_password_is_the_same_however_it_is_composed() -> None:
    composed, apart = "\u00e9tude op. 10 no. 12", "e\u0301tude op. 10 no. 12"

    assert check_password(composed, "ann") == check_password(apart, "ann")


@given(secret=secrets, other=secrets)
def test_a_session_has_a_token_of_its_own(secret: bytes, other: bytes) -> None:
    assert session_secret(secret.hex()) == secret
    assert secret.hex() not in csrf_of(secret)
    assert (csrf_of(secret) == csrf_of(other)) is (secret == other)


@given(st.text())
def test_no_other_text_is_a_cookie(text: str) -> None:
    assert session_secret(text) is None or len(bytes.fromhex(text)) == 32


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
        ("here", "here"),
    ],
)
def test_whoever_has_one_address_of_a_site_has_all(address: str, site: str) -> None:
    assert site_of(address) == site


@given(st.text(), st.text())
def test_what_is_counted_tells_nothing_of_what_was_typed(
    first: str, second: str
) -> None:
    assert len(counted("account", first)) == 32
    assert counted("account", first) != counted("site", first)
    if first.encode(errors="replace") != second.encode(errors="replace"):
        assert counted("account", first) != counted("account", second)
