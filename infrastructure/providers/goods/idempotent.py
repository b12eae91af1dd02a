"""A provider that honours keys: bought once for a key, looked up, and with a balance.

A request under a key is the same in every byte, its expiry included: the provider
refuses to begin at that instant, by its own clock.  What it does not know then was not
bought and never will be.  A purchase is looked up by its key alone.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final, Literal
from urllib.parse import quote

import msgspec

from application.goods.port import (
    Absent,
    Accepted,
    Balance,
    Capabilities,
    Confirmed,
    LookupAnswer,
    Purchase,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unknown,
    Unsent,
)
from application.ports import CallGuard
from domain.event import Instant
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.goods import meaning
from infrastructure.providers.goods.clock import Now, utc_now
from infrastructure.providers.goods.wire import Call, GoodsWire

FAILED: Final = "purchase_failed"
KEY_REUSED: Final = "key_reused"

_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_GREATEST: Final = 2**53
"""More than this no amount of money is; no column holds much more."""

_CAPABILITIES: Final = Capabilities(
    # An hour less than the day that the provider promises: clocks differ.
    key_lifetime=timedelta(hours=23),
    can_look_up=True,
    is_lookup_authoritative=True,
    # As long as a run of the delivery may take, so that no request outlives it.
    expiry=timedelta(seconds=120),
    has_balance=True,
)


class _Shown(msgspec.Struct, frozen=True):
    """A purchase as the provider shows it."""

    state: Literal["delivered", "accepted", "failed"]
    key: str
    reference: str


class _Error(msgspec.Struct, frozen=True):
    error: str
    at: Instant | None = None


class _Money(msgspec.Struct, frozen=True, rename="camel"):
    amount_minor: int
    currency: str


class _Product(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: str
    quantity: int | None = None
    months: int | None = None


class _Body(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    order_id: str
    product: _Product
    quantity: int
    recipient: str
    currency: str
    amount_minor: int
    expires_at: str | None


@dataclass(frozen=True, slots=True)
class IdempotentProvider:
    """See `GoodsProvider`."""

    wire: GoodsWire
    now: Now = utc_now

    @property
    def capabilities(self) -> Capabilities:
        """See `GoodsProvider.capabilities`."""
        return _CAPABILITIES

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        """See `GoodsProvider.submit`."""
        try:
            answer = self.wire.send(called(purchase), guard)
            return classify(answer, purchase.key, self.now())
        except Exception:  # noqa: BLE001 - the provider's edge: never raises
            return Unknown(meaning.ADAPTER_ERROR)

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        """See `GoodsProvider.look_up`."""
        del reference
        try:
            call = Call("GET", f"/purchases/{quote(key, safe='')}", key)
            return found(self.wire.send(call, guard), key)
        except Exception:  # noqa: BLE001 - the provider's edge: never raises
            return Unknown(meaning.ADAPTER_ERROR)

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        """See `GoodsProvider.balance`."""
        try:
            return left(self.wire.send(Call("GET", "/balance", "balance"), guard))
        except Exception:  # noqa: BLE001 - the provider's edge: never raises
            return Unknown(meaning.ADAPTER_ERROR)


def authorization(token: str) -> str:
    """Return the value of the header."""
    return f"Bearer {token}"


def called(purchase: Purchase) -> Call:
    """Return the request that buys it all, the same bytes for the same purchase."""
    product, ends = purchase.product, purchase.expires_at
    body = _Body(
        order_id=purchase.order_id,
        product=_Product(product.kind, product.quantity, product.months),
        quantity=purchase.quantity,
        recipient=purchase.recipient,
        currency=purchase.currency,
        amount_minor=purchase.cost_minor,
        expires_at=None if ends is None else ends.astimezone(UTC).isoformat(),
    )
    encoded = msgspec.json.encode(body)
    return Call("POST", "/purchases", purchase.key, encoded, purchase.key)


def classify(
    answer: Answer | NoAnswer | Stopped, key: str, now: datetime
) -> SubmitAnswer:
    """Return what came back of a purchase means; `now` is when it came."""
    if not isinstance(answer, Answer):
        return meaning.silent(answer)
    if meaning.is_success(answer):
        return _shown(answer, key, Unavailable("retryable", FAILED))
    turned_away = meaning.turned_away(answer, now)
    if turned_away is not None:
        return turned_away
    told = meaning.decoded(answer, _Error)
    match answer.status, told.error if told else None:
        case HTTPStatus.PAYMENT_REQUIRED, _:
            return Unavailable("provider_balance", "insufficient_balance")
        case HTTPStatus.GONE, "expired":
            return Unavailable("retryable", "expired")
        case HTTPStatus.CONFLICT, "key_reused":
            # Something was asked under the key before: it may have been bought.
            return Unknown(KEY_REUSED)
        case HTTPStatus.UNPROCESSABLE_ENTITY, "recipient_invalid":
            return Rejected("recipient_invalid", "recipient_invalid")
        case HTTPStatus.UNPROCESSABLE_ENTITY, "product_unknown":
            return Rejected("permanent", "unsellable_product")
        case ((HTTPStatus.REQUEST_TIMEOUT | HTTPStatus.CONFLICT), _):
            return Unknown(meaning.http_code(answer.status))
        case _ if meaning.is_refusal(answer):
            return Rejected("permanent", meaning.http_code(answer.status))
        case _:
            return Unknown(meaning.http_code(answer.status))


def found(answer: Answer | NoAnswer | Stopped, key: str) -> LookupAnswer:
    """Return what the answer to a look-up means.

    A 404 that does not say itself that the purchase is not known is no absence.
    """
    if isinstance(answer, Stopped):
        return Unsent(meaning.HALTED)
    if isinstance(answer, NoAnswer):
        return Unknown(meaning.UNREACHABLE)
    if meaning.is_success(answer):
        return _shown(answer, key, Rejected("permanent", FAILED))
    told = meaning.decoded(answer, _Error)
    is_absent = told is not None and told.error == "not_found"
    if answer.status == HTTPStatus.NOT_FOUND and told is not None and is_absent:
        return Absent(told.at)
    return Unknown(meaning.http_code(answer.status))


def _shown[T](
    answer: Answer, key: str, failed: T
) -> Confirmed | Accepted | Unknown | T:
    """Return what a purchase shown means; one under another key means nothing."""
    shown = meaning.decoded(answer, _Shown)
    if shown is None or shown.key != key:
        return Unknown(meaning.UNREACHABLE)
    match shown.state:
        case "delivered":
            return Confirmed(meaning.named(shown.reference))
        case "accepted":
            return Accepted(meaning.named(shown.reference))
        case "failed":
            return failed


def left(answer: Answer | NoAnswer | Stopped) -> Balance | Unknown:
    """Return how much money the provider says is left."""
    if not isinstance(answer, Answer):
        is_stopped = isinstance(answer, Stopped)
        return Unknown(meaning.HALTED if is_stopped else meaning.UNREACHABLE)
    if not meaning.is_success(answer):
        return Unknown(meaning.http_code(answer.status))
    money = meaning.decoded(answer, _Money)
    is_money = money is not None and _CURRENCY.fullmatch(money.currency) is not None
    if money is None or not is_money or abs(money.amount_minor) > _GREATEST:
        return Unknown(meaning.UNREACHABLE)
    return Balance(money.amount_minor, money.currency)
