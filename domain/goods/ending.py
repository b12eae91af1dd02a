"""How a delivery waits, is given to a person, or ends without goods."""

from typing import Final, assert_never

from domain.event import Instant
from domain.goods.commands import Cancel, Defer, Fail, Refund, Retry
from domain.goods.errors import refuse
from domain.goods.events import (
    Cancelled,
    Deferred,
    Failed,
    GoodsEvent,
    PurchaseUnknown,
    Refunded,
    Retried,
    ReviewOpened,
    SenderEnded,
)
from domain.goods.state import FINAL, GoodsDelivery, Stage, Standing, latest_asking

ATTEMPTS_EXHAUSTED: Final = "attempts_exhausted"

type EndingCommand = Defer | Fail | Refund | Cancel | Retry


def decide(delivery: GoodsDelivery, command: EndingCommand) -> tuple[GoodsEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case Defer():
            return _defer(delivery, command)
        case Fail():
            return _fail(delivery, command)
        case Refund():
            return _refund(delivery, command)
        case Cancel():
            return _cancel(delivery, command)
        case Retry():
            return _retry(delivery)
        case _:
            assert_never(command)


def given_up(delivery: GoodsDelivery, code: str) -> tuple[GoodsEvent, ...]:
    """Return what follows when nothing is bought any more.

    The money goes back at once, unless a person has bought again after a purchase
    whose end nobody knew: then a person decides.
    """
    if delivery.is_doubtful:
        return (ReviewOpened(decision=delivery.decision, code=code),)
    return (Failed(code=code), _refunded(delivery, code))


def opened(delivery: GoodsDelivery, code: str) -> tuple[GoodsEvent, ...]:
    """Return how it is given to a person: what was asked is unknown from then on."""
    review = ReviewOpened(decision=delivery.decision, code=code)
    if delivery.standing is not Standing.ASKED:
        return (review,)
    unknown = PurchaseUnknown(
        decision=delivery.decision,
        code=code,
        is_sender_gone=False,
        restored_at=None,
        quiet_at=None,
    )
    return (unknown, review)


def call_over(
    delivery: GoodsDelivery, how: str, quiet_at: Instant | None = None
) -> tuple[GoodsEvent, ...]:
    """Return that the latest sender's call is over, unless that is known."""
    asking = latest_asking(delivery)
    if asking is None or delivery.stage in FINAL:
        return ()
    ended = SenderEnded(
        sender=asking.sender, how=how, purchase=asking.purchase, quiet_at=quiet_at
    )
    return (ended,)


def _defer(delivery: GoodsDelivery, command: Defer) -> tuple[GoodsEvent, ...]:
    if delivery.stage is not Stage.PENDING:
        refuse(delivery, "defer")
    if delivery.deferred_code == command.code:
        return ()
    return (Deferred(code=command.code, until=command.until),)


def _fail(delivery: GoodsDelivery, command: Fail) -> tuple[GoodsEvent, ...]:
    """Its job is dead: nothing may follow from what was asked without a person."""
    if delivery.stage is Stage.UNBORN:
        refuse(delivery, "fail")
    if delivery.stage not in {Stage.PENDING, Stage.SUBMITTED}:
        return ()
    is_untouched = delivery.purchases == 0 and not delivery.is_doubtful
    if delivery.stage is Stage.PENDING and is_untouched:
        return (Failed(code=command.code),)
    return opened(delivery, command.code)


def _refund(delivery: GoodsDelivery, command: Refund) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.REFUNDED:
        return ()
    if delivery.stage is not Stage.FAILED:
        refuse(delivery, "refund")
    return (_refunded(delivery, command.code),)


def _cancel(delivery: GoodsDelivery, command: Cancel) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.CANCELLED:
        return ()
    if delivery.stage not in {Stage.PENDING, Stage.FAILED} or delivery.is_doubtful:
        refuse(delivery, "cancel")
    cancelled = Cancelled(code=command.code)
    if not command.refunds:
        return (cancelled,)
    return (cancelled, _refunded(delivery, command.code))


def _retry(delivery: GoodsDelivery) -> tuple[GoodsEvent, ...]:
    if delivery.stage is not Stage.FAILED:
        refuse(delivery, "retry")
    return (Retried(),)


def _refunded(delivery: GoodsDelivery, code: str) -> Refunded:
    return Refunded(
        amount_minor=delivery.paid_minor, currency=delivery.currency, code=code
    )
