"""The stage of the gateway's tests: its constants, and two kinds of buyers."""

from dataclasses import dataclass
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any

import httpx

from infrastructure.simulators.gateway.simulator import GatewaySettings

TOKEN = "gateway-token"  # noqa: S105 - opens nothing
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwQwErTyUiOpA="  # noqa: S105 - of a test
SETTINGS = GatewaySettings(token=TOKEN, callback_secret=SECRET, balance_minor=10_000)
KEY = "goods:0197:2:1"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


NO_CERTIFICATES = SSLContext(PROTOCOL_TLS_CLIENT)
"""Loading those of the machine takes longer than most tests here."""


def opened(url: str) -> httpx.Client:
    return httpx.Client(
        base_url=url, timeout=10, trust_env=False, verify=NO_CERTIFICATES
    )


@dataclass
class Keyed:
    """A buyer of the keyed dialect."""

    client: httpx.Client

    def buy(
        self, key: str = KEY, /, token: str = TOKEN, **members: object
    ) -> httpx.Response:
        body: dict[str, Any] = {
            "orderId": "shop:1",
            "product": {"kind": "telegram_stars", "quantity": 50},
            "quantity": 2,
            "recipient": "ann_lee",
            "currency": "USD",
            "amountMinor": 100,
            **members,
        }
        headers = {
            "Authorization": f"Bearer {token}",
            "Idempotency-Key": key,
            "X-Request-ID": key,
        }
        return self.client.post("/purchases", json=body, headers=headers)

    def look_up(self, name: str = KEY) -> httpx.Response:
        return self.client.get(f"/purchases/{name}", headers=BEARER)

    def balance(self) -> int:
        answer = self.client.get("/balance", headers=BEARER)
        return int(answer.json()["amountMinor"])


@dataclass
class Blind:
    """A buyer of the blind dialect."""

    client: httpx.Client

    def send(
        self,
        quantity: object = 50,
        username: object = "ann_lee",
        product: str = "stars",
        token: str = TOKEN,
    ) -> httpx.Response:
        body = {"user_id": 7, "username": username, "quantity": quantity}
        return self.client.post(
            f"/admin/{product}/send",
            json=body,
            auth=("omniflow", token),
            headers={"X-Request-ID": KEY},
        )
