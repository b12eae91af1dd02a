"""The keyed dialect: keys are honoured, purchases looked up; Bearer authentication.

POST /purchases   with Idempotency-Key and
    {orderId, product: {kind, quantity? | months?}, quantity, recipient, currency,
     amountMinor, expiresAt?}
    -> 200 {reference, key, orderId, state, amountMinor, currency, code?}
       402 insufficient_balance · 409 key_reused · 410 expired
       422 recipient_invalid or product_unknown
GET /purchases/{key}  -> 200 the same, or 404 {"error": "not_found", "at": …}
GET /balance          -> 200 {"amountMinor", "currency"}

`state` is `delivered`, `accepted` or `failed`.  What is not found was not bought up to
`at`, by the gateway's clock; the same clock refuses to begin at `expiresAt`.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from infrastructure.simulators.gateway.dialect import (
    FEWEST_STARS,
    MONTHS,
    PREMIUM,
    STARS,
    USERNAME,
)
from infrastructure.simulators.gateway.gateway import (
    Gateway,
    Refused,
    Taken,
    Wanted,
    instant,
    purchase_document,
)
from infrastructure.simulators.gateway.wire import Reply, Request, reply

_PURCHASES: Final = "/purchases"
_LONGEST_KEY: Final = 255
_STATUSES: Final = {
    "insufficient_balance": HTTPStatus.PAYMENT_REQUIRED,
    "key_reused": HTTPStatus.CONFLICT,
    "expired": HTTPStatus.GONE,
}


@dataclass(frozen=True, slots=True)
class Keyed:
    """Speaks the keyed dialect."""

    gateway: Gateway
    token: str
    currency: str
    name: str = "keyed"

    def action(self, request: Request) -> str | None:
        """See `Dialect.action`."""
        match request.method, request.path:
            case "POST", "/purchases":
                return "purchase"
            case "GET", "/balance":
                return "balance"
            case "GET", path if path.startswith(f"{_PURCHASES}/"):
                return "lookup"
            case _:
                return None

    def is_authorized(self, request: Request) -> bool:
        """See `Dialect.is_authorized`."""
        given = request.headers.get("authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode())

    def wanted(self, request: Request) -> Wanted | Reply:
        """See `Dialect.wanted`."""
        key = request.headers.get("idempotency-key", "")
        if not 0 < len(key) <= _LONGEST_KEY:
            return _error(HTTPStatus.BAD_REQUEST, "key_required")
        try:
            return _read(key, request)
        except (ValueError, KeyError, TypeError):
            return _error(HTTPStatus.BAD_REQUEST, "bad_request")
        except _UnsellableError as error:
            return _error(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))

    def taken(self, taken: Taken) -> Reply:
        """See `Dialect.taken`."""
        bought = taken.bought
        told = reply(HTTPStatus.OK, purchase_document(bought), bought.state)
        if not taken.is_replayed:
            return told
        headers = (("Idempotency-Replayed", "true"),)
        return Reply(told.status, told.body, told.told, headers=headers)

    def refused(self, refused: Refused) -> Reply:
        """See `Dialect.refused`."""
        return _error(_STATUSES[refused.reason], refused.reason)

    def delivered(self, request: Request) -> Reply:
        """See `Dialect.delivered`."""
        key = request.headers.get("idempotency-key")
        document = {"reference": "pur_never", "key": key, "state": "delivered"}
        return reply(HTTPStatus.OK, document, "delivered")

    def failed(self, request: Request) -> Reply:
        """See `Dialect.failed`."""
        key = request.headers.get("idempotency-key")
        document = {"reference": "pur_never", "key": key, "state": "failed"}
        return reply(HTTPStatus.OK, document, "failed")

    def asked(self, action: str, request: Request) -> Reply:
        """See `Dialect.asked`."""
        if action == "balance":
            balance = {
                "amountMinor": self.gateway.balance(),
                "currency": self.currency,
            }
            return reply(HTTPStatus.OK, balance, "balance")
        bought = self.gateway.look_up(looked_up(request))
        if bought is not None:
            return reply(HTTPStatus.OK, purchase_document(bought), bought.state)
        document = {"error": "not_found", "at": instant(self.gateway.now())}
        return reply(HTTPStatus.NOT_FOUND, document, "not_found")


def looked_up(request: Request) -> str:
    """Return the key that a look-up asks for."""
    return unquote(request.path.removeprefix(f"{_PURCHASES}/"))


class _UnsellableError(Exception):
    """What is asked for is not sold, or to nobody of that name."""


def _read(key: str, request: Request) -> Wanted:
    document = request.document()
    product = document["product"]
    kind, pieces = product["kind"], _whole(document["quantity"])
    units = _whole(product["months" if kind == PREMIUM else "quantity"])
    recipient = document["recipient"]
    is_sold = {STARS: units >= FEWEST_STARS, PREMIUM: units in MONTHS}
    if not is_sold.get(kind, False) or pieces < 1:
        raise _UnsellableError("product_unknown")  # noqa: EM101 - the code
    if not isinstance(recipient, str) or USERNAME.fullmatch(recipient) is None:
        raise _UnsellableError("recipient_invalid")  # noqa: EM101 - the code
    expires_at = document.get("expiresAt")
    canonical = json.dumps(document, sort_keys=True).encode()
    return Wanted(
        key=key,
        request_hash=hashlib.sha256(canonical).hexdigest(),
        order_id=str(document["orderId"]),
        product=kind,
        units=units * pieces,
        recipient=recipient,
        amount_minor=_whole(document["amountMinor"]),
        currency=str(document["currency"]),
        expires_at=None if expires_at is None else _ms(expires_at),
    )


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        msg = "expected an integer"
        raise ValueError(msg)
    return value


def _ms(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        msg = "expected an instant with its offset"
        raise ValueError(msg)
    return int(moment.timestamp() * 1000)


def _error(status: int, code: str) -> Reply:
    return reply(status, {"error": code}, code)
