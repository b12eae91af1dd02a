"""What becomes of a purchase whose end is unknown: reconciled, or decided by a person.

Until whoever asked last is known to be dead, a late request of his may still arrive,
so the money is not given back and nothing is bought again, unless the owner of the
installation takes that on himself with a reason (mechanisms 27).
"""

from typing import Final, Never, assert_never

from domain.errors import IllegalTransitionError
from domain.goods.asking import RETRYABLE
from domain.goods.commands import Decide, EndSender, OpenReview, Reconcile
from domain.goods.ending import given_up
from domain.goods.events import (
    DecisionProposed,
    Delivered,
    GoodsEvent,
    PurchaseRefused,
    Reconciled,
    Refunded,
    ReviewDecided,
    ReviewOpened,
    SenderEnded,
)
from domain.goods.state import (
    BUY_AGAIN,
    FINAL,
    MOST_PURCHASES,
    GoodsDelivery,
    Stage,
    Standing,
)

DELIVERED: Final = "delivered"
NOT_PURCHASED: Final = "not_purchased"
VERDICTS: Final = (DELIVERED, NOT_PURCHASED, BUY_AGAIN)

FOUND_DELIVERED: Final = "delivered"
FOUND_ACCEPTED: Final = "accepted"
FOUND_REFUSED: Final = "refused"
ABSENT: Final = "absent"
UNCLEAR: Final = "unclear"

type ReviewCommand = EndSender | Reconcile | OpenReview | Decide


class BarredError(IllegalTransitionError):
    """Whoever asked last is not known to be dead, so this could buy twice."""

    code = "sender_not_gone"


class SecondPersonError(IllegalTransitionError):
    """The same person cannot agree to what he has proposed."""

    code = "second_person_required"


class PurchasesSpentError(IllegalTransitionError):
    """No purchase is left of the budget."""

    code = "purchases_spent"


def decide(delivery: GoodsDelivery, command: ReviewCommand) -> tuple[GoodsEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case EndSender():
            return _end_sender(delivery, command)
        case Reconcile():
            return _reconcile(delivery, command)
        case OpenReview():
            return _open(delivery, command)
        case Decide():
            return _decide(delivery, command)
        case _:
            assert_never(command)


def _end_sender(delivery: GoodsDelivery, command: EndSender) -> tuple[GoodsEvent, ...]:
    if command.sender not in delivery.senders or delivery.stage in FINAL:
        return ()
    return (SenderEnded(sender=command.sender, how=command.how),)


def _reconcile(delivery: GoodsDelivery, command: Reconcile) -> tuple[GoodsEvent, ...]:
    is_open = delivery.stage in {Stage.SUBMITTED, Stage.NEEDS_REVIEW}
    if not is_open or command.decision != delivery.decision:
        _refused(delivery, "reconcile")
    told = Reconciled(
        decision=command.decision,
        found=command.found,
        reference=command.reference,
        code=command.code,
        is_conclusive=command.is_conclusive,
    )
    match command.found:
        case "delivered":
            return (told, Delivered(reference=command.reference or delivery.reference))
        case "refused" if delivery.stage is Stage.SUBMITTED:
            return (told, *_refused_after_all(delivery, command))
        case "absent" if command.is_conclusive and _is_spent(delivery):
            return (told, *given_up(delivery, "attempts_exhausted"))
        case _:
            return () if _is_told(delivery, command) else (told,)


def _refused_after_all(
    delivery: GoodsDelivery, command: Reconcile
) -> tuple[GoodsEvent, ...]:
    is_again = delivery.purchases < MOST_PURCHASES
    code = command.code or "refused"
    refused = PurchaseRefused(
        decision=command.decision,
        failure_class=RETRYABLE,
        code=code,
        next_at=command.next_at if is_again else None,
    )
    return (refused,) if is_again else (refused, *given_up(delivery, code))


def _is_spent(delivery: GoodsDelivery) -> bool:
    is_open = delivery.stage is Stage.SUBMITTED
    return is_open and delivery.purchases >= MOST_PURCHASES


def _is_told(delivery: GoodsDelivery, command: Reconcile) -> bool:
    """Whether the provider had said just that before, and it changes nothing."""
    if command.found == FOUND_ACCEPTED:
        return delivery.standing is Standing.ACCEPTED
    is_absent = command.found == ABSENT and command.is_conclusive
    return not is_absent and delivery.code == command.code


def _open(delivery: GoodsDelivery, command: OpenReview) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.NEEDS_REVIEW:
        return ()
    if delivery.stage not in {Stage.PENDING, Stage.SUBMITTED}:
        _refused(delivery, "open_review")
    return (ReviewOpened(decision=delivery.decision, code=command.code),)


def _decide(delivery: GoodsDelivery, command: Decide) -> tuple[GoodsEvent, ...]:
    if delivery.stage is not Stage.NEEDS_REVIEW:
        _refused(delivery, "decide")
    is_delivered = command.verdict == DELIVERED
    if delivery.senders and not is_delivered and not command.is_override:
        raise BarredError(delivery.stage, "decide", stream="delivery")
    is_again = command.verdict == BUY_AGAIN
    if is_again and delivery.purchases >= MOST_PURCHASES:
        raise PurchasesSpentError(delivery.stage, "decide", stream="delivery")
    if is_again and command.needs_second:
        return _agreed(delivery, command)
    return _decided(delivery, command)


def _agreed(delivery: GoodsDelivery, command: Decide) -> tuple[GoodsEvent, ...]:
    """Two people buy again: one proposes, another one agrees to the same."""
    proposal = delivery.proposal
    if proposal is None or proposal.verdict != command.verdict:
        return (
            DecisionProposed(
                by=command.by,
                verdict=command.verdict,
                evidence=command.evidence,
                is_override=command.is_override,
            ),
        )
    if proposal.by.id == command.by.id:
        raise SecondPersonError(delivery.stage, "decide", stream="delivery")
    return _decided(delivery, command)


def _decided(delivery: GoodsDelivery, command: Decide) -> tuple[GoodsEvent, ...]:
    proposal = delivery.proposal
    is_second = proposal is not None and command.needs_second
    decided = ReviewDecided(
        verdict=command.verdict,
        evidence=command.evidence,
        is_override=command.is_override,
        proposed_by=proposal.by if is_second and proposal is not None else None,
    )
    match command.verdict:
        case "delivered":
            return (decided, Delivered(reference=delivery.reference))
        case "not_purchased":
            refunded = Refunded(
                amount_minor=delivery.paid_minor,
                currency=delivery.currency,
                code=NOT_PURCHASED,
            )
            return (decided, refunded)
        case _:
            return (decided,)


def _refused(delivery: GoodsDelivery, command: str) -> Never:
    raise IllegalTransitionError(delivery.stage, command, stream="delivery")
