"""Each kind of answer that a panel was seen to give, and what it means for us."""

import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.ports import Misconfigured, Rejected, Unavailable, Unknown
from infrastructure.providers.answer import Answer, NoAnswer
from infrastructure.providers.panel.answer import Call
from infrastructure.providers.panel.classification import (
    LONGEST_RETRY_AFTER_SECONDS,
    Fine,
    Meaning,
    Said,
    SquadsDoubted,
    classify,
)
from infrastructure.providers.retry_after import retry_after_seconds

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
READ = Call("GET", "/api/users/1", "GET users/{id}")
WRITE = Call("PATCH", "/api/users", "PATCH users", b"{}")
WITH_SQUADS = Call("POST", "/api/users", "POST users", b"{}", has_squads=True)


def answer(
    status: int,
    body: object = None,
    retry_after: str | None = None,
    date: str | None = None,
) -> Answer:
    return Answer(status, json.dumps(body).encode(), retry_after, date)


def domain_error(status: int, code: str) -> Answer:
    text = {"timestamp": "t", "path": "/p", "message": "m", "errorCode": code}
    return answer(status, text)


def validation_error(*path: str, message: str = "Invalid input") -> Answer:
    issue = {"code": "custom", "path": list(path), "message": message}
    text = {"statusCode": 400, "message": "Validation failed", "errors": [issue]}
    return answer(400, text)


UNAUTHORIZED = answer(401, {"message": "Unauthorized", "statusCode": 401})
FORBIDDEN = answer(403, {"message": "Forbidden resource", "statusCode": 403})
NO_ROUTE = answer(404, {"message": "Cannot PUT /api/users", "statusCode": 404})
EXPIRY_PAST = validation_error(
    "expireAt", message="Expiration date cannot be in the past"
)
CREDENTIALS = Misconfigured("panel_credentials")
CONFIGURATION = Misconfigured("panel_configuration")

TABLE: list[tuple[str, Call, Answer | NoAnswer, Meaning]] = [
    ("missing on a read", READ, domain_error(404, "A063"), Said.USER_MISSING),
    ("missing on a write", WRITE, domain_error(404, "A025"), Said.USER_MISSING),
    ("no such route", READ, NO_ROUTE, CONFIGURATION),
    ("404 of a proxy", READ, Answer(404, b"<html>"), CONFIGURATION),
    (
        "404 of another kind",
        WRITE,
        domain_error(404, "A182"),
        Rejected("remnawave_http_404"),
    ),
    ("redirect", READ, Answer(302), CONFIGURATION),
    ("not modified", READ, Answer(304), CONFIGURATION),
    ("page of a proxy", READ, Answer(200, b"<html></html>"), CONFIGURATION),
    ("no envelope", READ, answer(200, {"users": []}), CONFIGURATION),
    ("half an envelope", WRITE, Answer(200, b'{"response":{"id":'), CONFIGURATION),
    ("no content", WRITE, Answer(204), CONFIGURATION),
    (
        "deep nesting",
        WRITE,
        Answer(200, b'{"response":' + b"[" * 99_999),
        CONFIGURATION,
    ),
    ("no UTF-8", WRITE, Answer(200, b'{"\xff":1}'), CONFIGURATION),
    ("status beyond HTTP", WRITE, Answer(999), CONFIGURATION),
    ("validation", WRITE, validation_error("username"), Rejected("remnawave_http_400")),
    ("past expiry", WRITE, EXPIRY_PAST, Said.EXPIRY_PAST),
    ("malformed", WRITE, answer(400, {"message": "x"}), Rejected("remnawave_http_400")),
    (
        "short uuid taken",
        WRITE,
        domain_error(400, "A020"),
        Rejected("remnawave_http_400"),
    ),
    ("user name taken", WRITE, domain_error(400, "A019"), Said.USERNAME_TAKEN),
    ("already disabled", WRITE, domain_error(400, "A029"), Said.ALREADY_SO),
    ("already enabled", WRITE, domain_error(400, "A030"), Said.ALREADY_SO),
    ("bad token", READ, UNAUTHORIZED, CREDENTIALS),
    ("token unknown while the database is down", WRITE, FORBIDDEN, CREDENTIALS),
    ("create failed", WRITE, domain_error(500, "A018"), Unknown("remnawave_http_500")),
    ("update failed", WRITE, domain_error(500, "A039"), Unknown("remnawave_http_500")),
    ("read failed", READ, domain_error(500, "A026"), Unavailable("remnawave_http_500")),
    ("proxy error", WRITE, Answer(502, b"<html>"), Unknown("remnawave_http_502")),
    ("conflict", WRITE, Answer(409), Rejected("remnawave_http_409")),
    ("request timeout", WRITE, Answer(408), Unavailable("remnawave_http_408")),
    ("too early", WRITE, Answer(425), Unavailable("remnawave_http_425")),
    ("rate limited", WRITE, Answer(429), Unavailable("remnawave_http_429")),
    (
        "cut off in a write",
        WRITE,
        NoAnswer(has_sent=True, reason="r"),
        Unknown("remnawave_unavailable"),
    ),
    (
        "cut off in a read",
        READ,
        NoAnswer(has_sent=True, reason="r"),
        Unavailable("remnawave_unavailable"),
    ),
    (
        "not connected",
        WRITE,
        NoAnswer(has_sent=False, reason="r"),
        Unavailable("remnawave_unavailable"),
    ),
    (
        "long answer to a write",
        WRITE,
        Answer(200, is_oversized=True),
        Unknown("remnawave_unavailable"),
    ),
    (
        "long answer to a read",
        READ,
        Answer(200, is_oversized=True),
        Unavailable("remnawave_unavailable"),
    ),
    (
        "long error",
        WRITE,
        Answer(503, is_oversized=True),
        Unknown("remnawave_http_503"),
    ),
]


def without_detail(meaning: Meaning) -> Meaning:
    if isinstance(meaning, Rejected | Unavailable | Unknown | Misconfigured):
        return msgspec.structs.replace(meaning, detail="")
    return meaning


@pytest.mark.parametrize(
    ("call", "given_answer", "meaning"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_every_observed_answer_has_its_class(
    call: Call, given_answer: Answer | NoAnswer, meaning: Meaning
) -> None:
    assert without_detail(classify(call, given_answer, NOW)) == meaning


def test_a_success_hands_on_what_its_envelope_holds() -> None:
    meaning = classify(READ, answer(200, {"response": {"id": 1}}), NOW)

    assert isinstance(meaning, Fine)
    assert msgspec.json.decode(meaning.response) == {"id": 1}


@pytest.mark.parametrize("code", ["A018", "A039", "A123"])
def test_a_500_that_may_mean_an_unknown_squad_asks_for_a_look(code: str) -> None:
    meaning = classify(WITH_SQUADS, domain_error(500, code), NOW)

    assert isinstance(meaning, SquadsDoubted)
    assert without_detail(meaning.otherwise) == Unknown("remnawave_http_500")


def test_without_squads_in_the_body_a_500_is_no_question_of_squads() -> None:
    meaning = classify(WRITE, domain_error(500, "A039"), NOW)

    assert isinstance(meaning, Unknown)


@pytest.mark.parametrize("status", [429, 503])
def test_what_retry_after_asks_for_is_kept(status: int) -> None:
    meaning = classify(WRITE, answer(status, retry_after="7"), NOW)

    assert isinstance(meaning, Unavailable | Unknown)
    assert meaning.retry_after_seconds == 7.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("999999999", 1280.0),
        ("9" * 5000, None),
        ("-1", None),
        ("soon", None),
        ("Sat, 01 Aug 2026 12:01:30 GMT", 90.0),
        ("Sat, 01 Aug 2026 11:00:00 GMT", 0.0),
        ("Sat, 01 Aug 9999 11:00:00 GMT", 1280.0),
        ("Sat, 01 Aug 2026 12:01:30 -0000", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_bounded(
    value: str | None, seconds: float | None
) -> None:
    assert retry_after_seconds(value, NOW, LONGEST_RETRY_AFTER_SECONDS) == seconds


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("Sat, 01 Aug 2026 12:11:00 GMT", 30.0),  # its clock is ahead, or ours behind
        ("Sat, 01 Aug 2026 11:49:00 GMT", 1280.0),
        ("Sat, 01 Aug 2026 12:12:30 GMT", 0.0),
        (None, 690.0),
        ("yesterday", 690.0),
        ("Sat, 01 Aug 2026 12:11:00 -0000", 690.0),
        ("Sat, 99 Aug 99999 12:11:00 GMT", 690.0),
    ],
)
def test_a_date_of_retry_after_counts_from_when_the_answer_was_sent(
    date: str | None, seconds: float
) -> None:
    """S15: whoever's clock is wrong, the delay is right."""
    until = "Sat, 01 Aug 2026 12:11:30 GMT"
    meaning = classify(WRITE, answer(503, retry_after=until, date=date), NOW)

    assert isinstance(meaning, Unavailable | Unknown)
    assert meaning.retry_after_seconds == seconds


@given(
    st.sampled_from([READ, WRITE, WITH_SQUADS]),
    st.integers(100, 999),
    st.binary(max_size=300),
    st.one_of(st.none(), st.text(max_size=40)),
    st.one_of(st.none(), st.text(max_size=40)),
)
def test_no_answer_makes_the_classification_raise(
    call: Call, status: int, body: bytes, retry_after: str | None, date: str | None
) -> None:
    classify(call, Answer(status, body, retry_after, date), NOW)


@given(st.integers(100, 999), st.text(min_size=8, max_size=40))
def test_nothing_that_the_panel_wrote_reaches_a_detail(
    status: int, secret: str
) -> None:
    """I12: of an error's body only the code of its catalogue is kept."""
    body = {"message": secret, "errorCode": secret, "errors": [{"path": [secret]}]}
    meaning = classify(WRITE, answer(status, body), NOW)

    if isinstance(meaning, Rejected | Unavailable | Unknown | Misconfigured):
        assert secret not in meaning.detail
