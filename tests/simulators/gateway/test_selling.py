"""What the gateway sells, and what its ledger says of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from infrastructure.simulators.gateway.simulator import GatewaySimulator
from tests.simulators.gateway.stage import KEY, TOKEN, Blind, Keyed
from tests.simulators.stage import SetClock


def test_a_keyed_purchase_is_one_request_and_one_effect(
    gateway: GatewaySimulator, keyed: Keyed, clock: SetClock
) -> None:
    answer = keyed.buy()

    assert answer.json()["state"] == "delivered"
    (effect,) = gateway.effects()
    assert effect.key == effect.decision_key == KEY
    assert effect.at == clock.now
    assert (effect.product, effect.units) == ("telegram_stars", 100)
    assert (effect.recipient, effect.amount_minor) == ("ann_lee", 100)
    assert effect.reference == answer.json()["reference"]
    (request,) = gateway.requests()
    assert (request.dialect, request.action, request.told) == (
        "keyed",
        "purchase",
        "delivered",
    )
    assert keyed.balance() == 9_900


def test_a_key_is_bought_once_within_its_lifetime(
    gateway: GatewaySimulator, keyed: Keyed, clock: SetClock
) -> None:
    first = keyed.buy()
    again = keyed.buy()
    clock.now += 86_400_000

    later = keyed.buy()

    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert later.json()["reference"] != first.json()["reference"]
    assert len(gateway.effects()) == 2
    assert keyed.look_up().json()["reference"] == later.json()["reference"]


def test_a_key_stands_for_one_request_only(
    gateway: GatewaySimulator, keyed: Keyed
) -> None:
    keyed.buy()

    answer = keyed.buy(recipient="bob_lee")

    assert (answer.status_code, answer.json()) == (409, {"error": "key_reused"})
    assert len(gateway.effects()) == 1


def test_what_has_expired_is_not_begun_but_still_told(
    gateway: GatewaySimulator, keyed: Keyed, clock: SetClock
) -> None:
    ends = datetime.fromtimestamp(clock.now / 1000, UTC) + timedelta(seconds=5)
    keyed.buy(expiresAt=ends.isoformat())
    clock.now += 5_000

    again = keyed.buy(expiresAt=ends.isoformat())
    other = keyed.buy("goods:0197:2:2", expiresAt=ends.isoformat())

    assert again.json()["state"] == "delivered"
    assert (other.status_code, other.json()) == (410, {"error": "expired"})
    assert len(gateway.effects()) == 1


def test_what_costs_more_than_is_left_is_not_sold(
    gateway: GatewaySimulator, keyed: Keyed
) -> None:
    gateway.set_balance(99)

    answer = keyed.buy()

    assert (answer.status_code, answer.json()["error"]) == (402, "insufficient_balance")
    assert gateway.effects() == []


def test_a_look_up_finds_by_key_and_by_reference(keyed: Keyed, clock: SetClock) -> None:
    missing = keyed.look_up()
    bought = keyed.buy().json()

    assert missing.status_code == 404
    at = datetime.fromisoformat(missing.json()["at"])
    assert at.timestamp() * 1000 == clock.now
    assert keyed.look_up().json() == bought
    assert keyed.look_up(bought["reference"]).json() == bought


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"recipient": "a"}, 422, "recipient_invalid"),
        ({"product": {"kind": "horses", "quantity": 50}}, 422, "product_unknown"),
        (
            {"product": {"kind": "telegram_stars", "quantity": 49}},
            422,
            "product_unknown",
        ),
        (
            {"product": {"kind": "telegram_premium", "months": 4}},
            422,
            "product_unknown",
        ),
        ({"quantity": 0}, 422, "product_unknown"),
        ({"quantity": "2"}, 400, "bad_request"),
        ({"expiresAt": "2027-01-01T00:00:00"}, 400, "bad_request"),
        ({"product": None}, 400, "bad_request"),
    ],
)
def test_what_is_not_sold_is_refused(
    gateway: GatewaySimulator,
    keyed: Keyed,
    members: dict[str, Any],
    status: int,
    code: str,
) -> None:
    answer = keyed.buy(**members)

    assert (answer.status_code, answer.json()) == (status, {"error": code})
    assert gateway.effects() == []
    assert gateway.requests()[0].told == code


def test_a_blind_gateway_sells_as_often_as_it_is_asked(
    gateway: GatewaySimulator, blind: Blind
) -> None:
    answers = [blind.send(100), blind.send(100), blind.send(3, product="premium")]

    assert [answer.json() for answer in answers] == [{"ok": True}] * 3
    bought = [(it.product, it.units, it.amount_minor) for it in gateway.effects()]
    stars = ("telegram_stars", 100, 100)
    assert bought == [stars, stars, ("telegram_premium", 3, 300)]
    assert {it.key for it in gateway.effects()} == {None}
    assert {it.decision_key for it in gateway.effects()} == {KEY}


@pytest.mark.parametrize(
    ("quantity", "username", "product", "status"),
    [
        (49, "ann_lee", "stars", 200),
        (4, "ann_lee", "premium", 200),
        (50, "ann", "stars", 200),
        ("50", "ann_lee", "stars", 400),
        (50, None, "stars", 400),
    ],
)
def test_what_a_blind_gateway_does_not_sell_is_not_ok(  # noqa: PLR0913, PLR0917 - a table
    gateway: GatewaySimulator,
    blind: Blind,
    quantity: object,
    username: object,
    product: str,
    status: int,
) -> None:
    answer = blind.send(quantity, username, product)

    assert answer.status_code == status
    assert answer.json()["ok"] is False
    assert gateway.effects() == []


def test_nothing_is_sold_without_the_token(
    gateway: GatewaySimulator, keyed: Keyed, blind: Blind
) -> None:
    assert keyed.buy(token="other").status_code == 401  # noqa: S106 - opens nothing
    assert blind.send(token="other").status_code == 401  # noqa: S106 - opens nothing
    assert gateway.effects() == []


def test_the_price_of_a_star_is_told(client: httpx.Client) -> None:
    answer = client.get("/admin/stars/value", auth=("omniflow", TOKEN))

    assert answer.json() == {"ok": True, "value": 1}


def test_a_route_that_is_none_is_kept_too(
    gateway: GatewaySimulator, client: httpx.Client
) -> None:
    assert client.get("/users").status_code == 404
    assert gateway.requests()[0].action == "other"
