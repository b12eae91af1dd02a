"""Requests of broken clients: each is told what is wrong, and none is our fault."""

import asyncio
from typing import Any

import httpx
import pytest

from api.http.app import application, enveloped
from api.http.surface import Surface
from tests.fixtures.http import Api

pytestmark = pytest.mark.database

SHOP = Surface.SHOPS


def code(answer: httpx.Response) -> tuple[int, object]:
    return answer.status_code, answer.json()["code"]


def test_whoever_asks_for_methods_is_told_them(api: Api) -> None:
    answer = httpx.options(f"{api.address}/v1/admin/jobs")

    assert answer.status_code == 204
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/queues/%00"),
        ("POST", "/projections/%00/pause"),
        ("GET", "/orders/a%00"),
    ],
)
def test_nothing_is_at_an_address_with_nul(api: Api, method: str, path: str) -> None:
    assert code(api.client().request(method, path)) == (404, "not_found")


def test_a_parameter_that_is_given_twice_is_refused(api: Api) -> None:
    answer = api.client().get("/jobs?state=discarded&state=cancelled")

    assert code(answer) == (400, "invalid_request")
    assert answer.json()["errors"][0]["parameter"] == "state"


def test_a_body_that_is_missing_is_missed(api: Api) -> None:
    answer = api.client(SHOP).post(
        "/jobs", headers={"Content-Type": "application/json"}
    )

    assert code(answer) == (400, "invalid_request")
    assert answer.json()["errors"][0]["code"] == "missing_body"


@pytest.mark.parametrize("body", ['{"dryRun": true}', "{", "[]", "null"])
def test_a_body_where_none_is_taken_is_no_silent_order(api: Api, body: str) -> None:
    headers = {"Content-Type": "application/json", "X-Operator-Reason": "no need"}
    job = api.client(SHOP).post("/jobs", json={"kind": "mail"}).json()["id"]
    answer = api.client().post(f"/jobs/{job}/cancel", content=body, headers=headers)

    assert code(answer) == (400, "unknown_field")
    assert api.client(SHOP).get(f"/jobs/{job}").json()["state"] == "queued"
    done = api.client().post(f"/jobs/{job}/cancel", content="{}", headers=headers)
    assert done.status_code == 200


def test_a_body_is_taken_as_it_is(api: Api) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = api.client(SHOP).post("/jobs", content=b"\x1f\x8b", headers=headers)

    assert code(answer) == (415, "unsupported_media_type")


def test_a_body_that_was_cut_off_is_no_fault_of_ours(api: Api) -> None:
    """Else anybody could fill the log with faults, and call people out of bed."""
    token = api.client(SHOP).headers["authorization"].encode()
    left: list[Any] = [
        {"type": "http.disconnect"},
        {"type": "http.request", "body": b"{", "more_body": True},
    ]
    told: list[Any] = []

    async def receive() -> Any:  # noqa: ANN401 - of ASGI
        return left.pop()

    async def send(message: Any) -> None:  # noqa: ANN401 - of ASGI
        told.append(message)

    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": "/v1/jobs",
        "raw_path": b"/v1/jobs",
        "query_string": b"",
        "headers": [
            (b"authorization", token),
            (b"content-type", b"application/json"),
        ],
    }

    async def ask() -> None:
        await enveloped(application(api.services))(scope, receive, send)

    asyncio.run(ask())

    assert told[0]["status"] == 400
