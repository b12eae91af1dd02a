"""What an answer means, for any status and any body (requirements 9.4)."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from application.goods.port import (
    Absent,
    Accepted,
    Balance,
    Confirmed,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unknown,
    Unsent,
)
from application.providers.credential import Credential
from domain.goods.events import Product
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.goods import fragment, idempotent
from infrastructure.providers.goods.adapters import build_adapter
from infrastructure.providers.goods.wire import Call
from tests.providers.goods.stage import KEY, purchase

NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)
CODE = re.compile(r"[a-z0-9_]{1,40}")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner)
    ),
    max_leaves=6,
)
shown = st.fixed_dictionaries(
    {
        "state": st.sampled_from(["delivered", "accepted", "failed", "lost"]),
        "key": st.sampled_from([KEY, "another"]),
        "reference": st.sampled_from(["pur_1", 7]),
    }
)
told = st.fixed_dictionaries(
    {},
    optional={
        "ok": st.booleans() | st.integers(0, 1) | st.text(max_size=4),
        "error": st.sampled_from(
            ["not_found", "expired", "key_reused", "recipient_invalid", "x"]
        ),
    },
)
documents = shown | told | json_values
bodies = documents.map(lambda it: json.dumps(it).encode()) | st.binary(max_size=30)
answers = st.builds(
    Answer,
    status=st.integers(100, 599) | st.sampled_from([200, 404, 409, 410, 422, 429]),
    body=bodies,
    retry_after=st.none() | st.text(max_size=12) | st.just("17"),
    is_oversized=st.booleans(),
)
silences = st.builds(NoAnswer, has_sent=st.booleans(), reason=st.just("x")) | st.just(
    Stopped()
)


def document(answer: Answer) -> Any:  # noqa: ANN401 - JSON
    try:
        return None if answer.is_oversized else json.loads(answer.body)
    except (ValueError, RecursionError):
        return None


def is_definite(meant: SubmitAnswer) -> bool:
    return isinstance(meant, Rejected | Unavailable | Unsent)


@given(answers)
@example(Answer(200, b'{"ok": true}'))
@example(Answer(204))
@example(Answer(301, b'{"ok": true}'))
@example(Answer(200, b'{"ok": 1}'))
def test_the_blind_table_holds_for_any_answer(answer: Answer) -> None:
    meant = fragment.classify(answer, NOW)

    said = document(answer)
    ok = said.get("ok") if isinstance(said, dict) else None
    code = f"http_{answer.status}"
    match answer.status:
        case status if 200 <= status < 300:
            expected: SubmitAnswer = Unknown("gateway_unreachable")
            if ok is True:
                expected = Confirmed()
            elif ok is False:
                expected = Rejected("permanent", "gateway_rejected")
        case 429:
            wait = meant.retry_after_seconds if isinstance(meant, Unavailable) else -1
            assert wait is None or 0 <= wait <= 3600
            expected = Unavailable("retryable", code, wait)
        case 401 | 403:
            expected = Unavailable("provider_unavailable", code)
        case status if 400 <= status < 500:
            expected = Rejected("permanent", code)
        case _:
            expected = Unknown(code)
    assert meant == expected


@given(answers)
def test_a_purchase_is_confirmed_only_under_its_own_key(answer: Answer) -> None:
    meant = idempotent.classify(answer, KEY, NOW)

    said = document(answer)
    is_shown = (
        200 <= answer.status < 300
        and isinstance(said, dict)
        and said.get("key") == KEY
        and isinstance(said.get("reference"), str)
    )
    state = said.get("state") if is_shown else None
    assert isinstance(meant, Confirmed) == (state == "delivered")
    assert isinstance(meant, Accepted) == (state == "accepted")
    if is_definite(meant):
        assert state == "failed" or 400 <= answer.status < 500
        assert answer.status != 408
    if not isinstance(meant, Confirmed | Accepted | Unsent):
        assert CODE.fullmatch(meant.code)


@given(st.text(max_size=300))
@example("pur_\0")
@example("x" * 256)
@example("token=hunter2")
def test_a_reference_can_be_stored_and_shown_or_is_none(reference: str) -> None:
    body = {"state": "delivered", "key": KEY, "reference": reference}
    answer = Answer(200, json.dumps(body).encode())

    meant = idempotent.classify(answer, KEY, NOW)

    assert isinstance(meant, Confirmed)
    assert meant.reference in {None, reference}
    assert meant.reference is None or (
        meant.reference.isascii() and meant.reference.isprintable()
    )
    assert "hunter2" not in (meant.reference or "")


@pytest.mark.parametrize(
    "money",
    [
        {"amountMinor": 10**30, "currency": "USD"},
        {"amountMinor": 5, "currency": "usd"},
        {"amountMinor": 5, "currency": "US\0"},
        {"amountMinor": 5.5, "currency": "USD"},
        {"amountMinor": 5},
    ],
)
def test_a_balance_of_another_form_is_unknown(money: dict[str, object]) -> None:
    answer = Answer(200, json.dumps(money).encode())

    assert idempotent.left(answer) == Unknown("gateway_unreachable")


@given(answers)
def test_an_absence_is_said_by_the_provider_itself(answer: Answer) -> None:
    meant = idempotent.found(answer, KEY)

    said = document(answer)
    error = said.get("error") if isinstance(said, dict) else None
    at = said.get("at") if isinstance(said, dict) else None
    if at is None:
        is_told = answer.status == 404 and error == "not_found"
        assert isinstance(meant, Absent) == is_told
    assert not isinstance(meant, Rejected) or said["state"] == "failed"


@given(silences)
def test_only_what_has_not_left_was_not_bought(silence: NoAnswer | Stopped) -> None:
    has_left = isinstance(silence, NoAnswer) and silence.has_sent
    for meant in (
        fragment.classify(silence, NOW),
        idempotent.classify(silence, KEY, NOW),
    ):
        assert is_definite(meant) != has_left
        assert isinstance(meant, Unsent) == isinstance(silence, Stopped)


@given(answers | silences)
def test_a_balance_is_a_number_of_a_currency(
    answer: Answer | NoAnswer | Stopped,
) -> None:
    assert isinstance(idempotent.left(answer), Balance | Unknown)


@pytest.mark.parametrize(
    ("recipient", "username"),
    [
        ("ann_lee", "ann_lee"),
        ("@ann_lee", "ann_lee"),
        ("t.me/ann_lee", "ann_lee"),
        ("https://t.me/ann_lee", "ann_lee"),
        (" @ann_lee ", "ann_lee"),
        ("a" * 32, "a" * 32),
        ("a" * 33, None),
        ("anna", None),
        ("1anna", None),
        ("ann lee", None),
        ("@@ann_lee", None),
        ("аnn_lee", None),  # noqa: RUF001 - a Cyrillic letter
        ("", None),
        ("t.me/", None),
    ],
)
def test_a_recipient_is_a_bare_username(recipient: str, username: str | None) -> None:
    call = fragment.called(purchase(recipient=recipient))

    if username is None:
        assert call == Rejected("recipient_invalid", "invalid_username")
    else:
        assert isinstance(call, Call)
        assert json.loads(call.body or b"")["username"] == username


def stars(quantity: int | None) -> Product:
    return Product(kind="telegram_stars", quantity=quantity)


def premium(months: int | None) -> Product:
    return Product(kind="telegram_premium", months=months)


@pytest.mark.parametrize(
    ("product", "pieces", "sent"),
    [
        (stars(50), 1, ("/admin/stars/send", 50)),
        (stars(50), 3, ("/admin/stars/send", 150)),
        (stars(49), 2, None),
        (stars(None), 1, None),
        (premium(3), 1, ("/admin/premium/send", 3)),
        (premium(3), 4, ("/admin/premium/send", 12)),
        (premium(6), 2, ("/admin/premium/send", 12)),
        (premium(3), 3, None),
        (premium(12), 2, None),
        (premium(1), 3, None),
        (Product(kind="telegram_stars", quantity=50, months=3), 1, None),
        (Product(kind="horses", quantity=50), 1, None),
    ],
)
def test_one_request_buys_all_pieces_or_there_is_none(
    product: Product, pieces: int, sent: tuple[str, int] | None
) -> None:
    call = fragment.called(purchase(product=product, quantity=pieces))

    if sent is None:
        assert call == Rejected("permanent", "unsellable_product")
    else:
        assert isinstance(call, Call)
        assert (call.path, json.loads(call.body or b"")["quantity"]) == sent


@pytest.mark.parametrize(
    ("customer", "user_id"),
    [("7", 7), ("ann", 0), ("-7", 0), ("9" * 30, 0), ("٧", 0), ("", 0)],  # noqa: RUF001 - a digit, elsewhere
)
def test_a_buyer_is_noted_where_he_is_a_number(customer: str, user_id: int) -> None:
    call = fragment.called(purchase(customer_id=customer))

    assert isinstance(call, Call)
    assert json.loads(call.body or b"")["user_id"] == user_id


@given(st.integers(1, 9), st.sampled_from([KEY, "k:2"]))
def test_a_repeated_request_is_the_same_in_every_byte(pieces: int, key: str) -> None:
    one = purchase(key, quantity=pieces, expires_at=NOW)
    other = msgspec.json.decode(msgspec.json.encode(one), type=type(one))

    assert idempotent.called(one) == idempotent.called(other)
    assert idempotent.called(one).key == key


def test_an_adapter_of_another_name_is_none() -> None:
    credential = Credential(base_url="https://shop.example", token="t")  # noqa: S106

    assert build_adapter("other", credential) is None
    assert "Basic" not in repr(build_adapter("fragment", credential))
    assert "Bearer" not in repr(build_adapter("idempotent", credential))
