"""The Fragment-style gateway (requirements 9.4 and 9.6): blind, it only sells.

It knows no keys, cannot be asked afterwards and does not tell what is left, so what is
not heard stays unknown.  One request buys all pieces of a line: `quantity` on the wire
is the stars, or the months, of all of them together.  Months are sold by 3, 6 and 12
alone, so pieces whose sum is none of these cannot be bought in one request, and are
refused here without asking.
"""

import base64
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from application.goods.port import (
    Balance,
    Capabilities,
    Confirmed,
    LookupAnswer,
    Purchase,
    Rejected,
    SubmitAnswer,
    Unknown,
)
from application.ports import CallGuard
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.goods import meaning
from infrastructure.providers.goods.clock import Now, utc_now
from infrastructure.providers.goods.wire import Call, GoodsWire

USER: Final = "omniflow"

_FEWEST_STARS: Final = 50
_MONTHS: Final = frozenset({3, 6, 12})
_USERNAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{4,31}", re.ASCII)
_LINK: Final = re.compile(r"(?:https?://)?t\.me/", re.ASCII | re.IGNORECASE)
_GREATEST_USER: Final = 2**63 - 1


class _Told(msgspec.Struct, frozen=True):
    ok: bool


class _Body(msgspec.Struct, frozen=True):
    user_id: int
    username: str
    quantity: int


@dataclass(frozen=True, slots=True)
class FragmentGateway:
    """See `GoodsProvider`."""

    wire: GoodsWire
    now: Now = utc_now

    @property
    def capabilities(self) -> Capabilities:
        """See `GoodsProvider.capabilities`."""
        return Capabilities()

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        """See `GoodsProvider.submit`."""
        try:
            call = called(purchase)
            if isinstance(call, Rejected):
                return call
            return classify(self.wire.send(call, guard), self.now())
        except Exception:  # noqa: BLE001 - the provider's edge: never raises
            return Unknown(meaning.ADAPTER_ERROR)

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        """See `GoodsProvider.look_up`; nothing is asked."""
        del key, reference, guard
        return Unknown("poll_unsupported")

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        """See `GoodsProvider.balance`; nothing is asked."""
        del guard
        return Unknown("balance_unsupported")


def authorization(token: str) -> str:
    """Return the value of the header."""
    pair = base64.b64encode(f"{USER}:{token}".encode()).decode()
    return f"Basic {pair}"


def called(purchase: Purchase) -> Call | Rejected:
    """Return the request that buys it all, or why there can be none."""
    username = username_of(purchase.recipient)
    if username is None:
        return Rejected("recipient_invalid", "invalid_username")
    product, pieces = purchase.product, purchase.quantity
    match product.kind, product.quantity, product.months:
        case "telegram_stars", int(stars), None if stars >= _FEWEST_STARS:
            path, quantity = "/admin/stars/send", stars * pieces
        case "telegram_premium", None, int(months) if (
            months in _MONTHS and months * pieces in _MONTHS
        ):
            path, quantity = "/admin/premium/send", months * pieces
        case _:
            return Rejected("permanent", "unsellable_product")
    body = _Body(_user_id(purchase.customer_id), username, quantity)
    return Call("POST", path, purchase.key, msgspec.json.encode(body))


def username_of(recipient: str) -> str | None:
    """Return the bare name of a recipient; None: there can be nobody of that name."""
    name = _LINK.sub("", recipient.strip(), count=1).removeprefix("@")
    return name if _USERNAME.fullmatch(name) else None


def _user_id(customer_id: str) -> int:
    """Return the buyer's id where it is a number; the gateway only notes it."""
    if not (customer_id.isascii() and customer_id.isdecimal()):
        return 0
    number = int(customer_id[:20])
    return number if number <= _GREATEST_USER else 0


def classify(answer: Answer | NoAnswer | Stopped, now: datetime) -> SubmitAnswer:
    """Return what came back means (requirements 9.4); `now` is when it came."""
    if not isinstance(answer, Answer):
        return meaning.silent(answer)
    if meaning.is_success(answer):
        told = meaning.decoded(answer, _Told)
        if told is None:
            return Unknown(meaning.UNREACHABLE)
        return Confirmed() if told.ok else Rejected("permanent", "gateway_rejected")
    turned_away = meaning.turned_away(answer, now)
    if turned_away is not None:
        return turned_away
    if meaning.is_refusal(answer):
        return Rejected("permanent", meaning.http_code(answer.status))
    # 5xx may hide a purchase, and so may a redirect, which is not followed.
    return Unknown(meaning.http_code(answer.status))
