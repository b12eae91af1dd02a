"""What a provider says of a purchase, as its answer or by a callback of its own.

Every answer names the decision that it is about.  That something was bought counts
whenever it is told, as long as the delivery has not ended otherwise.  That nothing
was bought ends a decision only where no other request under the same key can still
be on its way: after a repeated request the refusal says nothing of the first one.
"""

from typing import Final, assert_never

from domain.goods.asking import ANSWERED
from domain.goods.commands import Accept, Confirm, Refuse
from domain.goods.ending import call_over, given_up, opened
from domain.goods.errors import refuse
from domain.goods.events import (
    Delivered,
    GoodsEvent,
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseUnknown,
    Reconciled,
)
from domain.goods.state import (
    FINAL,
    MOST_PURCHASES,
    GoodsDelivery,
    Stage,
    Standing,
    askings_of,
)

RETRYABLE: Final = "retryable"
PROVIDER_BALANCE: Final = "provider_balance"
PROVIDER_UNAVAILABLE: Final = "provider_unavailable"
RECIPIENT_INVALID: Final = "recipient_invalid"
PERMANENT: Final = "permanent"

BOUGHT_AGAIN: Final = frozenset({RETRYABLE, PROVIDER_BALANCE, PROVIDER_UNAVAILABLE})
"""Classes of refusals after which another purchase may succeed (requirements 9.4)."""

FOUND_DELIVERED: Final = "delivered"
FOUND_ACCEPTED: Final = "accepted"
FOUND_REFUSED: Final = "refused"
ABSENT: Final = "absent"
UNCLEAR: Final = "unclear"

CONFIRMED_BEFORE: Final = "confirmed_before"
"""Code of a review: an earlier decision has bought, and a later one is open."""

type AnswerCommand = Confirm | Accept | Refuse


def decide(delivery: GoodsDelivery, command: AnswerCommand) -> tuple[GoodsEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case Confirm():
            reference = command.reference
            if reference is None and command.decision == delivery.decision:
                reference = delivery.reference
            said = PurchaseConfirmed(decision=command.decision, reference=reference)
            return bought(delivery, said)
        case Accept():
            return _accept(delivery, command)
        case Refuse():
            return _refuse(delivery, command)
        case _:
            assert_never(command)


def bought(
    delivery: GoodsDelivery, said: PurchaseConfirmed | Reconciled
) -> tuple[GoodsEvent, ...]:
    """Return what follows when the provider says that it bought under a decision.

    Raises:
        IllegalTransitionError: the money is given back already, or there never was
            such a decision; a person has to know of it.
    """
    if delivery.stage is Stage.DELIVERED:
        return ()
    is_open = delivery.stage in {Stage.PENDING, Stage.SUBMITTED, Stage.NEEDS_REVIEW}
    most = MOST_PURCHASES if delivery.is_restored else delivery.decision
    if not is_open or not 1 <= said.decision <= most:
        refuse(delivery, "confirm")
    if delivery.stage is Stage.PENDING or said.decision >= delivery.decision:
        return (said, Delivered(reference=said.reference))
    if delivery.stage is Stage.NEEDS_REVIEW and delivery.code == CONFIRMED_BEFORE:
        return ()
    return (said, *opened(delivery, CONFIRMED_BEFORE))


def refused(
    delivery: GoodsDelivery, said: PurchaseRefused, purchases: int
) -> tuple[GoodsEvent, ...]:
    """Return what follows when a decision is over without a purchase."""
    is_again = said.failure_class in BOUGHT_AGAIN and purchases < MOST_PURCHASES
    if is_again:
        return (said,)
    last = PurchaseRefused(
        decision=said.decision,
        failure_class=said.failure_class,
        code=said.code,
        next_at=None,
    )
    return (last, *given_up(delivery, said.code))


def _accept(delivery: GoodsDelivery, command: Accept) -> tuple[GoodsEvent, ...]:
    if delivery.stage in FINAL or command.decision < delivery.decision:
        return ()
    if command.decision > delivery.decision or delivery.decision == 0:
        refuse(delivery, "accept")
    over = call_over(delivery, ANSWERED) if command.is_answer else ()
    is_same = command.reference in {None, delivery.reference}
    if delivery.stage is Stage.NEEDS_REVIEW:
        is_told = is_same and delivery.reference is not None
        return over if is_told else (_told(command, FOUND_ACCEPTED), *over)
    if delivery.standing is Standing.ACCEPTED and is_same:
        return over
    accepted = PurchaseAccepted(
        decision=command.decision,
        reference=command.reference or delivery.reference,
        next_at=command.next_at,
    )
    return (accepted, *over)


def _refuse(delivery: GoodsDelivery, command: Refuse) -> tuple[GoodsEvent, ...]:
    if delivery.stage in FINAL or command.decision < delivery.decision:
        return ()
    if command.decision > delivery.decision or delivery.decision == 0:
        refuse(delivery, "refuse")
    if delivery.stage is Stage.PENDING:
        return ()
    if delivery.stage is Stage.SUBMITTED and _is_definite(delivery, command):
        said = PurchaseRefused(
            decision=command.decision,
            failure_class=command.failure_class,
            code=command.code,
            next_at=command.next_at,
        )
        return refused(delivery, said, delivery.purchases)
    if delivery.standing is Standing.ASKED and command.is_answer:
        unknown = PurchaseUnknown(
            decision=command.decision,
            code=command.code,
            is_sender_gone=True,
            restored_at=None,
            quiet_at=None,
        )
        return (unknown,)
    over = call_over(delivery, ANSWERED) if command.is_answer else ()
    if delivery.code == command.code:
        return over
    return (_told(command, FOUND_REFUSED), *over)


def _is_definite(delivery: GoodsDelivery, command: Refuse) -> bool:
    """Whether no other request of this decision can still have an effect."""
    match delivery.standing:
        case Standing.ASKED:
            return command.is_answer and delivery.withdraws_to is Standing.NONE
        case Standing.ACCEPTED:
            is_quiet = not askings_of(delivery, delivery.decision)
            return is_quiet and not delivery.is_restored
        case Standing.UNKNOWN | Standing.NONE:
            return False
        case _:
            assert_never(delivery.standing)


def _told(command: Accept | Refuse, found: str) -> Reconciled:
    """Return what was said as evidence, where it decides nothing."""
    return Reconciled(
        decision=command.decision,
        found=found,
        reference=command.reference if isinstance(command, Accept) else None,
        code=command.code if isinstance(command, Refuse) else None,
        is_conclusive=False,
    )
