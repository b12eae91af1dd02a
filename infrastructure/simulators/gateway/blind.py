"""The blind dialect: no keys, no look-ups, no balance; Basic authentication.

POST /admin/stars/send, /admin/premium/send   {user_id, username, quantity}
    -> 200 {"ok": true} or {"ok": false}
GET /admin/stars/value                        -> 200 {"ok": true, "value": …}

`quantity` is stars or months.  Sent twice, it is bought twice.
"""

import base64
import hmac
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from infrastructure.simulators.gateway.dialect import (
    FEWEST_STARS,
    MONTHS,
    PREMIUM,
    STARS,
    USERNAME,
)
from infrastructure.simulators.gateway.gateway import Refused, Taken, Wanted
from infrastructure.simulators.gateway.wire import Reply, Request, reply

USER: Final = "omniflow"

_SENDS: Final = {"/admin/stars/send": STARS, "/admin/premium/send": PREMIUM}
_VALUE: Final = "/admin/stars/value"
_DELIVERED: Final = reply(HTTPStatus.OK, {"ok": True}, "delivered")


@dataclass(frozen=True, slots=True)
class Blind:
    """Speaks the blind dialect, at these prices for one star and one month."""

    token: str
    star_minor: int
    month_minor: int
    currency: str
    name: str = "blind"

    def action(self, request: Request) -> str | None:
        """See `Dialect.action`."""
        if request.method == "POST" and request.path in _SENDS:
            return "purchase"
        return "price" if (request.method, request.path) == ("GET", _VALUE) else None

    def is_authorized(self, request: Request) -> bool:
        """See `Dialect.is_authorized`."""
        told = base64.b64encode(f"{USER}:{self.token}".encode()).decode()
        given = request.headers.get("authorization", "")
        return hmac.compare_digest(given.encode(), f"Basic {told}".encode())

    def wanted(self, request: Request) -> Wanted | Reply:
        """See `Dialect.wanted`."""
        try:
            document = request.document()
            quantity, username = document["quantity"], document["username"]
            user_id = document["user_id"]
        except (ValueError, KeyError):
            return _bad("expected {user_id, username, quantity}")
        numbers = (quantity, user_id)
        if any(isinstance(each, bool) or not isinstance(each, int) for each in numbers):
            return _bad("user_id and quantity must be integers")
        if not isinstance(username, str):
            return _bad("username must be a string")
        product = _SENDS[request.path]
        is_sold = quantity >= FEWEST_STARS if product == STARS else quantity in MONTHS
        if not is_sold or USERNAME.fullmatch(username) is None:
            return self.failed(request)
        price = self.star_minor if product == STARS else self.month_minor
        return Wanted(
            key=None,
            request_hash="",
            order_id=None,
            product=product,
            units=quantity,
            recipient=username,
            amount_minor=quantity * price,
            currency=self.currency,
        )

    def taken(self, taken: Taken) -> Reply:
        """See `Dialect.taken`."""
        del taken  # it has no words for what is not over yet
        return _DELIVERED

    def refused(self, refused: Refused) -> Reply:
        """See `Dialect.refused`."""
        return reply(
            HTTPStatus.OK, {"ok": False, "error": refused.reason}, refused.reason
        )

    def delivered(self, request: Request) -> Reply:
        """See `Dialect.delivered`."""
        del request
        return _DELIVERED

    def failed(self, request: Request) -> Reply:
        """See `Dialect.failed`."""
        del request
        return reply(HTTPStatus.OK, {"ok": False}, "failed")

    def asked(self, action: str, request: Request) -> Reply:
        """See `Dialect.asked`."""
        del action, request
        return reply(HTTPStatus.OK, {"ok": True, "value": self.star_minor}, "price")


def _bad(problem: str) -> Reply:
    return reply(HTTPStatus.BAD_REQUEST, {"ok": False, "error": problem}, "bad_request")
