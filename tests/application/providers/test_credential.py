"""A credential is read from what a person gives; a refusal repeats nothing of it."""

import json
import traceback
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.providers.credential import (
    Credential,
    credential_of,
    stored_credential,
    token_of,
)
from domain.errors import InvalidRequestError

SECRET = "s3cr3t-canary-of-this-test"  # noqa: S105 - a test's
WEBHOOK = f"whsec_{b64encode(SECRET.encode()).decode()}"
WHOLE = {
    "baseUrl": "https://gateway.example:8443/v2/",
    "token": SECRET,
    "currency": "EUR",
    "webhookSecret": WEBHOOK,
}


def given_as(**members: object) -> bytes:
    return json.dumps(WHOLE | members).encode()


def test_a_whole_credential_is_read() -> None:
    credential = credential_of(given_as())

    assert credential == Credential(
        base_url="https://gateway.example:8443/v2",
        token=SECRET,
        currency="EUR",
        webhook_secret=WEBHOOK,
    )
    assert credential.host == "gateway.example:8443"


def test_currency_and_webhook_secret_may_be_left_out() -> None:
    credential = credential_of(
        b' {"token": "t", "baseUrl": "http://127.0.0.1:8080", "currency": null}\n'
    )

    assert credential == Credential(base_url="http://127.0.0.1:8080", token="t")  # noqa: S106 - a test's


def test_what_is_sealed_is_read_back() -> None:
    credential = credential_of(given_as())

    assert stored_credential(credential.written()) == credential
    assert stored_credential(b"{}") is None
    assert stored_credential(b"\xff") is None


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"baseUrl": f"ftp://{SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https://user:{SECRET}@gateway.example"}, "baseUrl"),
        ({"baseUrl": f"https://gateway.example/?token={SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https://gateway.example/#{SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https://[{SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https://gateway.example:99999/{SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https://gateway.example/{'x' * 500}{SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https:///{SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https://gateway.example\n/{SECRET}"}, "baseUrl"),
        ({"baseUrl": f"https://gatewày.example/{SECRET}"}, "baseUrl"),
        ({"baseUrl": None}, "baseUrl"),
        ({"token": f"{SECRET} {SECRET}"}, "token"),
        ({"token": f"{SECRET}\r\nX-Header: 1"}, "token"),
        ({"token": ""}, "token"),
        ({"token": SECRET + "é"}, "token"),
        ({"token": [SECRET]}, "token"),
        ({"token": SECRET * 300}, "token"),
        ({"currency": SECRET}, "currency"),
        ({"currency": "eur"}, "currency"),
        ({"currency": 978}, "currency"),
        ({"webhookSecret": SECRET}, "webhookSecret"),
        ({"webhookSecret": f"whsec_{SECRET}"}, "webhookSecret"),
        ({"webhookSecret": WEBHOOK[:30]}, "webhookSecret"),
        ({"webhookSecret": f"whsec_{'A' * 88}"}, "webhookSecret"),
        ({"webhookSecret": f"{WEBHOOK}é"}, "webhookSecret"),
        ({"webhookSecret": f"{SECRET} {SECRET}"}, "webhookSecret"),
        ({SECRET: "a secret that has slipped"}, ""),
        ({"webhook_secret": SECRET}, ""),
    ],
)
def test_what_is_wrong_is_named_and_nothing_of_it_is_repeated(
    members: dict[str, object], path: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        credential_of(given_as(**members))

    assert refused.value.path == path
    assert SECRET not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    "text",
    [SECRET.encode(), f'"{SECRET}"'.encode(), f'["{SECRET}"]'.encode(), b"", b"\xff"],
)
def test_a_bare_token_is_told_what_a_credential_looks_like(text: bytes) -> None:
    with pytest.raises(InvalidRequestError, match="a JSON object like") as refused:
        credential_of(text)

    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_megabyte_is_not_even_read() -> None:
    with pytest.raises(InvalidRequestError, match="at most 16384 bytes"):
        credential_of(given_as(token="x" * 1_000_000))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_credential_or_refused(text: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        credential_of(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(WHOLE, json_values)))
def test_any_members_are_a_credential_that_can_be_used_or_refused(
    members: dict[str, object],
) -> None:
    try:
        credential = credential_of(given_as(**members))
    except InvalidRequestError:
        return
    assert stored_credential(credential.written()) == credential
    assert token_of(credential.token) == credential.token
    assert credential.host


def test_a_credential_shows_where_it_is_for_and_no_secret() -> None:
    credential = credential_of(given_as())

    for shown in (repr(credential), str(credential), f"{credential}"):
        assert shown == "Credential(host='gateway.example:8443')"
