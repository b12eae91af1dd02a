"""S23 over HTTP: bad text is refused with where it is, and never a fault of ours."""

import json

import httpx
import pytest

from api.http.surface import Surface
from tests.fixtures.http import Api
from tests.http.intake.asked import JOB, KEY, order, pointers, under

pytestmark = pytest.mark.database

JSON = {"Content-Type": "application/json"}
DEEP = "[" * 10_000 + "]" * 10_000
BIG = "x" * (1 << 20)


def post(shop: httpx.Client, path: str, body: str | bytes) -> httpx.Response:
    return shop.post(path, content=body, headers=JSON)


def job(args: str) -> str:
    """Return a request for a job, whose arguments are this very text."""
    return f'{{"kind": "noop", "args": {args}}}'


BAD = {
    "NUL": ('{"text": "a\\u0000b"}', "#/args/text"),
    "NUL in a name": ('{"a\\u0000b": 1}', "#/args"),
    "half a character": ('{"text": "\\ud800"}', "#/args/text"),
    "half of one in a list": ('{"list": [1, "\\udfff"]}', "#/args/list/1"),
    "half of one in a name": ('{"\\ud800": 1}', "#/args"),
    "a name twice": ('{"a": 1, "a": 2}', "#"),
    "NaN": ('{"n": NaN}', "#"),
    "an infinite number": ('{"n": 1e400}', "#/args/n"),
    "400 digits": (f'{{"n": 1{"0" * 400}}}', "#/args/n"),
    "10,000 deep": (f'{{"deep": {DEEP}}}', "#"),
    "300 kB": (f'{{"text": "{"x" * 300_000}"}}', "#/args"),
}


def test_bad_arguments_are_pointed_at(api: Api) -> None:
    shop = api.client(Surface.SHOPS)

    for headers in ({}, under(KEY)):
        shop.headers.update(headers)
        for what, (args, where) in BAD.items():
            answer = post(shop, "/jobs", job(args))
            assert (answer.status_code, pointers(answer)) == (400, [where]), what


def test_what_is_no_utf_8_is_refused(api: Api) -> None:
    answer = post(
        api.client(Surface.SHOPS), "/jobs", b'{"kind": "noop", "args": {"t": "\xff"}}'
    )

    assert answer.status_code == 400
    assert pointers(answer) == ["#"]


def test_a_string_of_a_megabyte_is_too_large(api: Api) -> None:
    answer = post(api.client(Surface.SHOPS), "/jobs", job(json.dumps({"text": BIG})))

    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


def test_emoji_and_marks_that_turn_letters_round_are_text(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    text = "\U0001f600 שלום \u202e \u200f \u2066"

    answer = shop.post("/jobs", json={"kind": "noop", "args": {text: [text]}})

    assert answer.status_code == 202
    with api.services.database.connection() as connection:
        stored = connection.execute("SELECT args FROM counterfoil.jobs").fetchall()
    assert stored == [({text: [text]},)]


@pytest.mark.parametrize("text", ["a\u202eb", "\u0007"])
def test_ids_hold_visible_characters_alone(api: Api, text: str) -> None:
    shop = api.client(Surface.SHOPS)

    for path, body, where in (
        ("/orders/settle", order(orderId=text), "#/orderId"),
        ("/orders/settle", order(customerId=text), "#/customerId"),
        ("/jobs", JOB | {"uniqueKey": text}, "#/uniqueKey"),
        ("/jobs", JOB | {"correlationId": text}, "#/correlationId"),
    ):
        answer = shop.post(path, json=body)
        assert answer.status_code == 400
        assert pointers(answer) == [where]


def test_a_bad_reason_of_a_refund_is_pointed_at(api: Api) -> None:
    shop = api.client(Surface.SHOPS)

    for reason in ("a\u0000b", "\u001b[2J", "x" * 2000, "a\nb", "", "no"):
        answer = shop.post("/orders/A-1/refund", json={"reason": reason})
        assert (answer.status_code, pointers(answer)) == (400, ["#/reason"])


HEADERS = (
    ("Idempotency-Key", b"12345678\xff", 400),
    ("Idempotency-Key", "ключ-ключ-ключ".encode(), 400),
    ("Idempotency-Key", b"x" * 5000, 400),
    ("X-Operator-Reason", b"a\xffb", 400),
    ("X-Operator-Reason", b"%00", 202),
    ("X-Operator-Reason", b"%ff", 400),
    ("X-Operator-Reason", b"%ED%A0%80", 400),
    ("X-Operator-Reason", b"%F0%9F%98%80", 202),
    ("X-Operator-Reason", b"x" * 401, 422),
    ("X-Request-ID", b"\xff\xfe", 202),
)


def test_a_bad_header_is_named(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    request = shop.build_request("POST", "/jobs", json=JOB)

    for name, value, status in HEADERS:
        headers = [*request.headers.raw, (name.encode(), value)]
        answer = shop.send(
            httpx.Request("POST", request.url, headers=headers, content=request.read())
        )
        assert answer.status_code == status, (name, value)
        if status >= 400:
            assert pointers(answer) == [name]


def test_a_bad_path_is_no_fault_of_ours(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    why = {"reason": "sent back"}

    for path in ("%00", "%ff", "%F0%9F%98%80", "a%2e%2e", "x" * 4000, "%E2%80%AE"):
        looked = shop.get(f"/orders/{path}")
        plain = shop.post(f"/orders/{path}/refund", json=why)
        keyed = shop.post(f"/orders/{path}/refund", json=why, headers=under(KEY))
        assert looked.status_code in {400, 404}
        assert plain.status_code in {202, 400, 404}
        assert keyed.status_code in {202, 400, 404, 409}
