"""Tokens as text: one form, nothing of the secret anywhere else."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.access.tokens import (
    TokenText,
    check_places,
    check_scopes,
    digest,
    is_any_of,
    may_come_from,
    token_of,
)
from domain.errors import InvalidRequestError

secrets = st.binary(min_size=32, max_size=32)
environments = st.from_regex(r"[a-z][a-z0-9]{0,15}", fullmatch=True)


@given(environment=environments, id_=st.uuids(), secret=secrets)
def test_a_token_is_read_as_it_was_written(
    environment: str, id_: UUID, secret: bytes
) -> None:
    token = TokenText(environment=environment, id=id_, secret=secret)

    assert token_of(token.written()) == token
    assert secret.hex() not in repr(token)


@given(st.text())
def test_no_other_text_is_a_token(text: str) -> None:
    assert token_of(text) is None
    assert token_of(f"ffl_{text}") is None


@given(secret=secrets, other=secrets)
def test_a_secret_is_good_for_its_own_digests_alone(
    secret: bytes, other: bytes
) -> None:
    assert is_any_of(secret, [digest(secret)])
    assert is_any_of(secret, [digest(other), digest(secret)])
    assert not is_any_of(secret, [])
    assert is_any_of(secret, [digest(other)]) is (secret == other)


def test_the_digest_of_nobody_is_no_secrets_own() -> None:
    assert not is_any_of(b"", [])
    assert not is_any_of(bytes(32), [])


@given(st.ip_addresses())
def test_without_places_a_token_may_come_from_everywhere(address: object) -> None:
    assert may_come_from(str(address), ())
    assert may_come_from(str(address), (str(address),))


@pytest.mark.parametrize("address", ["", "here", "192.0.2.1:80", "192.0.2.256"])
def test_what_is_no_address_is_in_no_network(address: str) -> None:
    assert not may_come_from(address, ("0.0.0.0/0", "::/0"))


@pytest.mark.parametrize(
    ("places", "kept"),
    [
        (["192.0.2.7"], ("192.0.2.7/32",)),
        (["192.0.2.0/24", "192.0.2.0/24"], ("192.0.2.0/24",)),
        (["2001:DB8::/32"], ("2001:db8::/32",)),
    ],
)
def test_networks_have_one_form(places: list[str], kept: tuple[str, ...]) -> None:
    assert check_places(places) == kept


@pytest.mark.parametrize("place", ["192.0.2.1/24", "here", "", "192.0.2.0/33"])
def test_what_is_no_network_is_refused_with_its_place(place: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"allowedFrom\[1\]"):
        check_places(["192.0.2.7", place])


@pytest.mark.parametrize("scopes", [[], ["jobs:read", "everything"], ["JOBS_READ"]])
def test_only_permissions_are_scopes(scopes: list[str]) -> None:
    with pytest.raises(InvalidRequestError, match="scopes"):
        check_scopes(scopes)
