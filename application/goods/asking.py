"""A provider behind the promise that it never raises, whoever made its adapter."""

from collections.abc import Callable
from typing import Final

from application.context import Context
from application.goods.port import (
    Absent,
    Accepted,
    Capabilities,
    Confirmed,
    GoodsProvider,
    LookupAnswer,
    Purchase,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unknown,
    Unsent,
)
from application.ports import ADAPTER_ERROR
from domain.goods.answers import BOUGHT_AGAIN, PERMANENT, RECIPIENT_INVALID
from domain.goods.resolution import Facts
from domain.goods.state import GoodsDelivery, total_cost
from domain.jobs.verdict import LONGEST_NAME
from domain.text import clean, cut

LONGEST_REFERENCE: Final = 255
_FOR_GOOD: Final = frozenset({PERMANENT, RECIPIENT_INVALID})
_ERROR: Final = Unknown(ADAPTER_ERROR)


type _Answer = SubmitAnswer | LookupAnswer


def purchase_of(delivery: GoodsDelivery) -> Purchase:
    """Return the request; repeated under its key, it is the same in every byte."""
    if delivery.product is None:
        msg = "a delivery of nothing"
        raise AssertionError(msg)
    return Purchase(
        key=delivery.key or "",
        order_id=delivery.order_id,
        customer_id=delivery.customer_id,
        product=delivery.product,
        quantity=delivery.quantity,
        recipient=delivery.recipient,
        currency=delivery.currency,
        cost_minor=total_cost(delivery),
        expires_at=delivery.expires_at,
    )


def submit(provider: GoodsProvider, purchase: Purchase, guard: Context) -> SubmitAnswer:
    """Return what the provider answered; what cannot be an answer is unknown."""
    answer = _never_raising(lambda: provider.submit(purchase, guard), guard)
    return _ERROR if isinstance(answer, Absent) else answer


def look_up(
    provider: GoodsProvider, key: str, reference: str | None, guard: Context
) -> LookupAnswer:
    """Return what the provider says became of a purchase; likewise."""
    answer = _never_raising(lambda: provider.look_up(key, reference, guard), guard)
    return _ERROR if isinstance(answer, Unavailable) else answer


def facts_of(capabilities: Capabilities) -> Facts:
    """Return what the rules need to know of a provider."""
    return Facts(
        can_look_up=capabilities.can_look_up,
        is_lookup_authoritative=capabilities.is_lookup_authoritative,
        expiry=capabilities.expiry,
    )


def _never_raising(ask: Callable[[], object], guard: Context) -> _Answer:
    try:
        return _sound(ask())
    except Exception as error:  # noqa: BLE001 - the provider's edge: never raises
        # The kind alone: a message may hold what the provider said (I12).
        guard.log("adapter raised", error=type(error).__name__)
        return _ERROR


def _sound(answer: object) -> _Answer:
    """Return an answer as it may be stored; whatever is none is unknown."""
    match answer:
        case Confirmed():
            return Confirmed(_reference(answer.reference))
        case Accepted():
            return Accepted(_reference(answer.reference))
        case Rejected(failure_class=found) if found in _FOR_GOOD:
            return Rejected(found, _name(answer.code))
        case Unavailable(failure_class=found) if found in BOUGHT_AGAIN:
            later = answer.retry_after_seconds
            return Unavailable(found, _name(answer.code), later)
        case Unknown():
            return Unknown(_name(answer.code))
        case Unsent():
            return Unsent(_name(answer.cause))
        case Absent():
            return answer
        case _:
            return _ERROR


def _name(told: str) -> str:
    return cut(clean(told), LONGEST_NAME)


def _reference(told: str | None) -> str | None:
    return None if told is None else cut(clean(told), LONGEST_REFERENCE)
