"""What asking a provider means: submissions, and what it answered to them.

Every answer names the decision that it is about, so one that comes late says nothing
about a later decision.
"""

from typing import Final, Never, assert_never

from domain.errors import IllegalTransitionError
from domain.goods.commands import (
    Accept,
    Confirm,
    LoseTrack,
    Refuse,
    Submit,
    Withdraw,
)
from domain.goods.ending import given_up
from domain.goods.events import (
    Delivered,
    GoodsEvent,
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseSubmitted,
    PurchaseUnknown,
    PurchaseWithdrawn,
)
from domain.goods.state import (
    FINAL,
    MOST_PURCHASES,
    GoodsDelivery,
    Stage,
    Standing,
    key_of,
)

RETRYABLE: Final = "retryable"
PROVIDER_BALANCE: Final = "provider_balance"
PROVIDER_UNAVAILABLE: Final = "provider_unavailable"
RECIPIENT_INVALID: Final = "recipient_invalid"
PERMANENT: Final = "permanent"

BOUGHT_AGAIN: Final = frozenset({RETRYABLE, PROVIDER_BALANCE, PROVIDER_UNAVAILABLE})
"""Classes of refusals after which another purchase may succeed (requirements 9.4)."""

type AskingCommand = Submit | Withdraw | Confirm | Accept | Refuse | LoseTrack


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
        case Confirm():
            return _confirm(delivery, command)
        case Accept():
            return _accept(delivery, command)
        case Refuse():
            return _refuse(delivery, command)
        case LoseTrack():
            return _lose_track(delivery, command)
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
        _refused(delivery, "submit")
    if delivery.purchases >= MOST_PURCHASES or delivery.order is None:
        _refused(delivery, "submit")
    decision = delivery.decision if is_repeated else delivery.decision + 1
    key = key_of(delivery.order, delivery.line, decision)
    return (
        PurchaseSubmitted(
            decision=decision,
            purchase=delivery.purchases + 1,
            key=key,
            token=command.token,
            deadline=command.deadline,
            expires_at=delivery.expires_at if is_repeated else command.expires_at,
            repeat_until=delivery.repeat_until if is_repeated else command.repeat_until,
            sender=command.sender,
        ),
    )


def _withdraw(delivery: GoodsDelivery, command: Withdraw) -> tuple[GoodsEvent, ...]:
    if delivery.standing is not Standing.ASKED:
        _refused(delivery, "withdraw")
    return (
        PurchaseWithdrawn(
            decision=delivery.decision,
            purchase=delivery.purchases,
            cause=command.cause,
        ),
    )


def _confirm(delivery: GoodsDelivery, command: Confirm) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.DELIVERED:
        return ()
    if not _is_open(delivery) or command.decision != delivery.decision:
        _refused(delivery, "confirm")
    reference = command.reference or delivery.reference
    return (
        PurchaseConfirmed(decision=command.decision, reference=reference),
        Delivered(reference=reference),
    )


def _accept(delivery: GoodsDelivery, command: Accept) -> tuple[GoodsEvent, ...]:
    if delivery.stage is not Stage.SUBMITTED or command.decision != delivery.decision:
        _refused(delivery, "accept")
    if delivery.standing is Standing.ACCEPTED and command.reference in {
        None,
        delivery.reference,
    }:
        return ()
    return (PurchaseAccepted(decision=command.decision, reference=command.reference),)


def _refuse(delivery: GoodsDelivery, command: Refuse) -> tuple[GoodsEvent, ...]:
    if delivery.stage is not Stage.SUBMITTED or command.decision != delivery.decision:
        _refused(delivery, "refuse")
    is_again = (
        command.failure_class in BOUGHT_AGAIN and delivery.purchases < MOST_PURCHASES
    )
    refused = PurchaseRefused(
        decision=command.decision,
        failure_class=command.failure_class,
        code=command.code,
        next_at=command.next_at if is_again else None,
    )
    return (refused,) if is_again else (refused, *given_up(delivery, command.code))


def _lose_track(delivery: GoodsDelivery, command: LoseTrack) -> tuple[GoodsEvent, ...]:
    if delivery.stage in FINAL or delivery.stage is Stage.UNBORN:
        _refused(delivery, "lose_track")
    if delivery.stage not in {Stage.PENDING, Stage.SUBMITTED}:
        return ()
    if delivery.standing is Standing.UNKNOWN and delivery.code == command.code:
        return ()
    return (
        PurchaseUnknown(
            decision=delivery.decision,
            code=command.code,
            is_sender_gone=command.is_sender_gone,
        ),
    )


def _is_open(delivery: GoodsDelivery) -> bool:
    """Whether what became of the latest decision is still to be told."""
    return (
        delivery.stage in {Stage.SUBMITTED, Stage.NEEDS_REVIEW}
        and delivery.decision > 0
    )


def _refused(delivery: GoodsDelivery, command: str) -> Never:
    raise IllegalTransitionError(delivery.stage, command, stream="delivery")
