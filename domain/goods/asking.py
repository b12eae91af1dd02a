"""What asking a provider means: submissions, and losing track of one.

A claim that has been lost changes nothing (I4), so whoever answers for a submission
answers for the latest one; an earlier one ends by the proof that its sender is dead.
"""

from typing import Final, assert_never

from domain.goods.commands import LoseTrack, Restore, Submit, Withdraw
from domain.goods.ending import call_over
from domain.goods.errors import NotDueError, PurchasesSpentError, refuse
from domain.goods.events import (
    GoodsEvent,
    PurchaseSubmitted,
    PurchaseUnknown,
    PurchaseWithdrawn,
)
from domain.goods.state import (
    FINAL,
    IN_FLIGHT,
    MOST_PURCHASES,
    RESTORED,
    GoodsDelivery,
    Stage,
    Standing,
    key_of,
)

NEVER_ASKED: Final = "never_asked"
"""How a sender ends who says, too late to be given back, that he never asked."""

ANSWERED: Final = "answered"
"""How a sender ends whose call is over, though its answer decides nothing."""

type AskingCommand = Submit | Withdraw | LoseTrack | Restore


def decide(delivery: GoodsDelivery, command: AskingCommand) -> tuple[GoodsEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case Submit():
            return _submit(delivery, command)
        case Withdraw():
            return _withdraw(delivery, command)
        case LoseTrack():
            return _lose_track(delivery, command)
        case Restore():
            return _restore(delivery, command)
        case _:
            assert_never(command)


def may_repeat(delivery: GoodsDelivery, command: Submit) -> bool:
    """Whether the provider promises one effect, however often the key is sent."""
    until = delivery.repeat_until
    return (
        delivery.stage is Stage.SUBMITTED
        and delivery.standing is Standing.UNKNOWN
        and not delivery.is_restored
        and until is not None
        and command.at < until
    )


def _submit(delivery: GoodsDelivery, command: Submit) -> tuple[GoodsEvent, ...]:
    is_repeated = may_repeat(delivery, command)
    if delivery.stage is not Stage.PENDING and not is_repeated:
        refuse(delivery, "submit")
    if delivery.order is None or delivery.is_restored:
        refuse(delivery, "submit")
    if delivery.purchases >= MOST_PURCHASES:
        raise PurchasesSpentError(delivery.stage, "submit", stream="delivery")
    if delivery.next_at is not None and command.at < delivery.next_at:
        raise NotDueError(delivery.stage, "submit", stream="delivery")
    decision = delivery.decision if is_repeated else delivery.decision + 1
    return (
        PurchaseSubmitted(
            decision=decision,
            purchase=delivery.purchases + 1,
            key=key_of(delivery.order, delivery.line, decision),
            token=command.token,
            deadline=command.deadline,
            expires_at=delivery.expires_at if is_repeated else command.expires_at,
            repeat_until=delivery.repeat_until if is_repeated else command.repeat_until,
            sender=command.sender,
        ),
    )


def _withdraw(delivery: GoodsDelivery, command: Withdraw) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.UNBORN:
        refuse(delivery, "withdraw")
    if delivery.standing is not Standing.ASKED:
        return call_over(delivery, NEVER_ASKED)
    return (
        PurchaseWithdrawn(
            decision=delivery.decision,
            purchase=delivery.purchases,
            cause=command.cause,
        ),
    )


def _lose_track(delivery: GoodsDelivery, command: LoseTrack) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.UNBORN:
        refuse(delivery, "lose_track")
    quiet_at = None if command.at is None else command.at + IN_FLIGHT
    if delivery.standing is not Standing.ASKED:
        is_gone = command.is_sender_gone
        return call_over(delivery, ANSWERED, quiet_at) if is_gone else ()
    return (
        PurchaseUnknown(
            decision=delivery.decision,
            code=command.code,
            is_sender_gone=command.is_sender_gone,
            restored_at=None,
            quiet_at=quiet_at if command.is_sender_gone else None,
        ),
    )


def _restore(delivery: GoodsDelivery, command: Restore) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.UNBORN:
        refuse(delivery, "restore")
    known = delivery.restored_at
    if delivery.stage in FINAL or (known is not None and command.at <= known):
        return ()
    return (
        PurchaseUnknown(
            decision=delivery.decision,
            code=RESTORED,
            is_sender_gone=False,
            restored_at=command.at,
            quiet_at=None,
        ),
    )
