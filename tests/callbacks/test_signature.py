"""Who has signed a callback: Standard Webhooks, whatever is sent."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.callbacks.said import Decision, Said, Unsaid, decision_of
from application.callbacks.signature import (
    MALFORMED_HEADERS,
    SECRET_UNUSABLE,
    SIGNATURE_INVALID,
    TIMESTAMP_OUTSIDE,
    TOLERANCE,
    problem_of,
)
from domain.goods.state import key_of
from infrastructure.providers.goods.callback import read_callback
from tests.callbacks.stage import SECRET, body_of, signed

NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)
AT = int(NOW.timestamp())
STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + "QUJD" * 8


def test_a_published_example_of_the_standard_is_accepted() -> None:
    """The vector that the libraries of Standard Webhooks are tested with."""
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    at = datetime.fromtimestamp(1614265330, UTC)

    assert problem_of(headers, b'{"test": 2432232314}', STANDARD, at) is None


@given(st.binary(max_size=200), st.integers(-300, 300))
def test_what_is_signed_in_time_is_the_providers(body: bytes, late: int) -> None:
    now = NOW + timedelta(seconds=late)

    assert problem_of(signed(body, AT), body, SECRET, now) is None


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_another_body_is_signed_by_nobody(body: bytes, other: bytes) -> None:
    problem = problem_of(signed(body, AT), other, SECRET, NOW)

    assert problem == (None if body == other else SIGNATURE_INVALID)


texts = st.text(max_size=40)


@given(st.dictionaries(texts, texts), texts, texts, texts, st.binary(max_size=20))
def test_whatever_is_sent_is_refused_by_a_code(
    headers: dict[str, str], event: str, at: str, signature: str, body: bytes
) -> None:
    given_headers = {
        **headers,
        "webhook-id": event,
        "webhook-timestamp": at,
        "webhook-signature": signature,
    }

    problem = problem_of(given_headers, body, SECRET, NOW)

    assert problem in {MALFORMED_HEADERS, SIGNATURE_INVALID}


def test_one_of_two_signatures_is_enough_while_the_secret_changes() -> None:
    one, other = (signed(b"{}", AT, secret=it) for it in (SECRET, OTHER))
    both = f"{other['Webhook-Signature']} {one['Webhook-Signature']}"

    assert problem_of({**one, "Webhook-Signature": both}, b"{}", SECRET, NOW) is None
    assert problem_of(other, b"{}", SECRET, NOW) == SIGNATURE_INVALID


@pytest.mark.parametrize("way", [1, -1])
def test_an_old_signature_and_one_of_the_future_are_outside(way: int) -> None:
    now = NOW + way * (TOLERANCE + timedelta(seconds=1))

    assert problem_of(signed(b"{}", AT), b"{}", SECRET, now) == TIMESTAMP_OUTSIDE


@pytest.mark.parametrize(
    "secret", ["", "plain", "whsec_", "whsec_c2hvcnQ=", "whsec_!!!", "whsec_é"]
)
def test_a_secret_of_another_form_opens_nothing(secret: str) -> None:
    assert problem_of(signed(b"{}", AT), b"{}", secret, NOW) == SECRET_UNUSABLE


@pytest.mark.parametrize("at", ["", "soon", "-1", "1" * 12, "1.5", "\u0661"])
def test_an_instant_is_a_number_of_seconds(at: str) -> None:
    headers = {**signed(b"{}", AT), "Webhook-Timestamp": at}

    assert problem_of(headers, b"{}", SECRET, NOW) == MALFORMED_HEADERS


@given(st.uuids(), st.integers(1, 999), st.integers(1, 6))
def test_a_key_leads_back_to_its_decision(order: UUID, line: int, n: int) -> None:
    assert decision_of(key_of(order, line, n)) == Decision(order, line, n)


@given(texts)
def test_any_text_is_a_key_or_none(text: str) -> None:
    assert decision_of(text) is None or text.startswith("goods:")


@given(st.binary(max_size=60))
def test_any_body_means_something_or_says_why_not(body: bytes) -> None:
    assert isinstance(read_callback("idempotent", body), Said | Unsaid)


@pytest.mark.parametrize(
    ("adapter", "body", "said"),
    [
        (
            "idempotent",
            body_of("k"),
            Said(kind="delivered", key="k", reference="pur_1"),
        ),
        ("idempotent", body_of("k", "lost"), Unsaid("unknown_kind", is_known=False)),
        (
            "idempotent",
            b'{"type": "purchase.failed"}',
            Unsaid("malformed_body", is_known=True),
        ),
        ("idempotent", b"{", Unsaid("malformed_body", is_known=True)),
        ("fragment", body_of("k"), Unsaid("unknown_kind", is_known=False)),
    ],
)
def test_a_body_is_read_as_its_adapter_knows_it(
    adapter: str, body: bytes, said: Said | Unsaid
) -> None:
    assert read_callback(adapter, body) == said
