"""A provider tells by itself what it did: by its signature alone, once, on record."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from api.http.surface import Surface
from application.callbacks.record import LARGEST_BODY_BYTES
from domain.goods.state import Stage
from infrastructure.settings import Settings
from tests.callbacks.stage import Shop, body_of, configure, signed
from tests.callbacks.test_replay import interrupted
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def send(
    api: Api, body: bytes, headers: dict[str, str], path: str = "stars"
) -> httpx.Response:
    return httpx.post(f"{api.address}/v1/hooks/{path}", content=body, headers=headers)


def kept(shop: Shop) -> list[tuple[Any, ...]]:
    return shop.connection.execute(
        "SELECT state, code FROM counterfoil.provider_callbacks ORDER BY id"
    ).fetchall()


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_what_is_signed_is_told_once(api: Api, shop: Shop) -> None:
    delivery = shop.bought()
    body = body_of(shop.key(delivery))
    headers = signed(body, shop.now())

    first, again = send(api, body, headers), send(api, body, headers)

    assert (first.status_code, first.json()) == (200, {"status": "accepted"})
    assert (again.status_code, again.json()) == (200, {"status": "duplicate"})
    assert shop.state(delivery).stage is Stage.DELIVERED
    assert kept(shop) == [("accepted", None), ("duplicate", None)]


def test_the_very_bytes_are_signed(api: Api, shop: Shop) -> None:
    body = body_of(shop.key(shop.bought()))
    spaced = body.replace(b": ", b":  ")

    answer = send(api, spaced, signed(body, shop.now()))

    assert refusal(answer) == (400, "callback_rejected")
    assert kept(shop) == [("rejected", "signature_invalid")]


@pytest.mark.parametrize(
    ("path", "code"),
    [("moon", "unknown_provider"), ("stars?tenant=acme", "unknown_provider")],
)
def test_who_guesses_learns_nothing_and_is_on_record(
    api: Api, shop: Shop, path: str, code: str
) -> None:
    body = body_of("goods:x:1:1")
    wrong = send(api, body, signed(body, shop.now() - 3_600))

    answer = send(api, body, signed(body, shop.now()), path)

    assert refusal(answer) == refusal(wrong) == (400, "callback_rejected")
    assert answer.json()["detail"] == wrong.json()["detail"]
    assert [row[1] for row in kept(shop)] == ["timestamp_outside", code]


def test_another_tenants_provider_is_reached_by_its_name(api: Api, shop: Shop) -> None:
    configure(shop.connection, tenant_id="acme")
    body = body_of("goods:x:1:1")

    answer = send(api, body, signed(body, shop.now()), "stars?tenant=acme")

    assert answer.json() == {"status": "accepted"}
    assert kept(shop) == [("ignored", "unknown_key")]


@pytest.mark.parametrize("tenant", ["", "a" * 129, "a%00b"])
def test_a_tenant_that_is_none_is_refused(api: Api, shop: Shop, tenant: str) -> None:
    body = body_of("goods:x:1:1")

    answer = send(api, body, signed(body, shop.now()), f"stars?tenant={tenant}")

    assert answer.status_code == 400


def test_a_callback_that_is_too_large_is_refused_and_on_record(
    api: Api, shop: Shop
) -> None:
    body = b" " * (LARGEST_BODY_BYTES + 1)

    answer = send(api, body, signed(body, shop.now()))

    assert refusal(answer) == (413, "payload_too_large")
    assert kept(shop) == [("rejected", "body_too_large")]


def test_a_request_that_is_too_large_is_not_even_read(api: Api, shop: Shop) -> None:
    answer = send(api, b" " * (1 << 21), {})

    assert refusal(answer) == (413, "payload_too_large")
    assert kept(shop) == []


def test_no_other_credential_opens_it(api: Api, shop: Shop) -> None:
    token = api.client(Surface.ADMIN).headers["authorization"]
    cookie = api.client(Surface.PANEL).headers["cookie"]

    for headers in ({"Authorization": token}, {"Cookie": cookie}):
        assert refusal(send(api, b"{}", headers)) == (400, "callback_rejected")
    assert {row[1] for row in kept(shop)} == {"malformed_headers"}


def test_its_signature_opens_nothing_else(api: Api, shop: Shop) -> None:
    body = body_of(shop.key(shop.bought()))
    headers = signed(body, shop.now())

    for path in ("/v1/jobs", "/v1/admin/jobs/x/retry", "/v1/panel/jobs/x/retry"):
        answer = httpx.post(f"{api.address}{path}", content=body, headers=headers)
        assert refusal(answer) == (401, "unauthorized")


def test_who_floods_is_held_back(database: TestDatabase, tmp_path: Path) -> None:
    settings = Settings(rate_limit_burst=2)
    with api_over(database, tmp_path, settings) as api:
        codes = [send(api, b"{}", {}).status_code for _ in range(3)]

    assert codes == [400, 400, 429]
    rows = database.connect().execute(
        "SELECT count(*) FROM counterfoil.provider_callbacks"
    )
    assert rows.fetchall() == [(2,)]


def test_what_was_interrupted_is_replayed_by_a_person(api: Api, shop: Shop) -> None:
    delivery = shop.bought()
    callback = interrupted(shop, shop.key(delivery))
    ann = api.client(Surface.PANEL)

    path, key = f"/system/webhooks/cbk_{callback}/replay", "replay-0001"

    first = ann.post(path, headers={"Idempotency-Key": key})
    same = ann.post(path, headers={"Idempotency-Key": key})
    again = ann.post(path)

    assert (first.status_code, same.status_code) == (202, 202)
    assert same.headers["idempotency-replayed"] == "true"
    assert told(same.json()) == told(first.json())
    assert first.json()["deliveryId"] == f"dlv_{delivery.id}"
    assert shop.state(delivery).stage is Stage.DELIVERED
    assert refusal(again) == (409, "state_conflict")
    assert again.json()["state"] == "accepted"
    assert shop.connection.execute(
        """
        SELECT data->>'action', data->'before'->>'state',
               data->'after'->>'state', meta->'actor'->>'id'
          FROM counterfoil.events
         WHERE type = 'operator.action_taken' AND data->>'target_kind' = 'callback'
        """
    ).fetchall() == [("panel.webhook.replayed", "failed", "accepted", "ann")]


def told(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "position"}


def test_another_tenants_callback_is_none(api: Api, shop: Shop) -> None:
    body = body_of("goods:x:1:1")
    send(api, body, signed(body, shop.now()))
    ((callback,),) = shop.connection.execute(
        "SELECT id FROM counterfoil.provider_callbacks"
    ).fetchall()
    eve = api.client(Surface.ADMIN, name="eve", tenant="acme")

    answer = eve.post(f"/system/webhooks/{callback}/replay")

    assert refusal(answer) == (404, "not_found")
    assert kept(shop) == [("ignored", "unknown_key")]
