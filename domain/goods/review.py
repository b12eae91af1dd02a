"""What becomes of a purchase whose end is unknown: reconciled, or decided by a person.

Until whoever asked is known to be dead, a late request of his may still arrive, so
the money is not given back and nothing is bought again, unless the owner of the
installation takes that on himself with a reason (mechanisms 27).
"""

from typing import Final, assert_never

from domain.errors import InvalidRequestError
from domain.goods.answers import (
    FOUND_ACCEPTED,
    FOUND_DELIVERED,
    FOUND_REFUSED,
    RETRYABLE,
    bought,
    refused,
)
from domain.goods.commands import Decide, EndSender, OpenReview, Reconcile
from domain.goods.ending import ATTEMPTS_EXHAUSTED, given_up, opened
from domain.goods.errors import (
    BarredError,
    PurchasesSpentError,
    SecondPersonError,
    refuse,
)
from domain.goods.events import (
    DecisionProposed,
    Delivered,
    GoodsEvent,
    PurchaseRefused,
    Reconciled,
    Refunded,
    ReviewDecided,
    SenderEnded,
)
from domain.goods.state import (
    BUY_AGAIN,
    FINAL,
    IN_FLIGHT,
    MOST_PURCHASES,
    GoodsDelivery,
    Proposal,
    Stage,
    Standing,
    askings_of,
)

DELIVERED: Final = "delivered"
NOT_PURCHASED: Final = "not_purchased"
VERDICTS: Final = (DELIVERED, NOT_PURCHASED, BUY_AGAIN)

UNKNOWN_VERDICT: Final = "unknown_verdict"
EVIDENCE_REQUIRED: Final = "evidence_required"

type ReviewCommand = EndSender | Reconcile | OpenReview | Decide


def decide(delivery: GoodsDelivery, command: ReviewCommand) -> tuple[GoodsEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
        InvalidRequestError: a verdict that there is not, or without evidence.
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
    is_there = any(each.sender == command.sender for each in delivery.senders)
    if not is_there or delivery.stage in FINAL:
        return ()
    ended = SenderEnded(
        sender=command.sender,
        how=command.how,
        purchase=None,
        quiet_at=command.at + IN_FLIGHT,
    )
    return (ended,)


def _reconcile(delivery: GoodsDelivery, command: Reconcile) -> tuple[GoodsEvent, ...]:
    reference = command.reference
    if reference is None and command.decision == delivery.decision:
        reference = delivery.reference
    told = Reconciled(
        decision=command.decision,
        found=command.found,
        reference=reference,
        code=command.code,
        is_conclusive=command.is_conclusive,
    )
    if command.found == FOUND_DELIVERED:
        return bought(delivery, told)
    if delivery.stage in FINAL:
        return ()
    is_open = delivery.stage in {Stage.SUBMITTED, Stage.NEEDS_REVIEW}
    most = MOST_PURCHASES if delivery.is_restored else delivery.decision
    if not is_open or not delivery.decision <= command.decision <= most:
        refuse(delivery, "reconcile")
    if delivery.stage is Stage.SUBMITTED and _is_over(delivery, command):
        return (told, *_without_purchase(delivery, command))
    return () if _is_told(delivery, command) else (told,)


def _is_over(delivery: GoodsDelivery, command: Reconcile) -> bool:
    """Whether nothing was bought, and nothing can be under this key any more."""
    match command.found:
        case "refused" if delivery.standing is Standing.ACCEPTED:
            # It had the purchase, so it knows how that ended.
            is_quiet = not askings_of(delivery, delivery.decision)
            return is_quiet and not delivery.is_restored
        case "refused":
            return command.is_conclusive and delivery.standing is Standing.UNKNOWN
        case "absent":
            return command.is_conclusive and delivery.standing is Standing.UNKNOWN
        case _:
            return False


def _without_purchase(
    delivery: GoodsDelivery, command: Reconcile
) -> tuple[GoodsEvent, ...]:
    purchases = max(delivery.purchases, command.decision)
    if command.found == FOUND_REFUSED:
        said = PurchaseRefused(
            decision=command.decision,
            failure_class=command.failure_class or RETRYABLE,
            code=command.code or FOUND_REFUSED,
            next_at=command.next_at,
        )
        return refused(delivery, said, purchases)
    is_spent = purchases >= MOST_PURCHASES
    return given_up(delivery, ATTEMPTS_EXHAUSTED) if is_spent else ()


def _is_told(delivery: GoodsDelivery, command: Reconcile) -> bool:
    """Whether the provider had said just that before, and it changes nothing."""
    if command.decision > delivery.decision or command.is_conclusive:
        return False
    if command.found == FOUND_ACCEPTED:
        is_same = command.reference in {None, delivery.reference}
        return delivery.standing is Standing.ACCEPTED and is_same
    return delivery.code == (command.code or command.found)


def _open(delivery: GoodsDelivery, command: OpenReview) -> tuple[GoodsEvent, ...]:
    if delivery.stage is Stage.NEEDS_REVIEW:
        return ()
    if delivery.stage not in {Stage.PENDING, Stage.SUBMITTED}:
        refuse(delivery, "open_review")
    return opened(delivery, command.code)


def _decide(delivery: GoodsDelivery, command: Decide) -> tuple[GoodsEvent, ...]:
    _require_sense(command)
    if delivery.stage is not Stage.NEEDS_REVIEW:
        refuse(delivery, "decide")
    is_barred = bool(delivery.senders) and command.verdict != DELIVERED
    if is_barred and not command.is_override:
        raise BarredError(delivery.stage, "decide", stream="delivery")
    if command.verdict != BUY_AGAIN:
        return _decided(delivery, command, is_override=is_barred, proposed=None)
    if delivery.purchases >= MOST_PURCHASES:
        raise PurchasesSpentError(delivery.stage, "decide", stream="delivery")
    if command.needs_second:
        return _agreed(delivery, command, is_override=is_barred)
    return _decided(delivery, command, is_override=is_barred, proposed=None)


def _require_sense(command: Decide) -> None:
    if command.verdict not in VERDICTS:
        known = ", ".join(VERDICTS)
        detail = f"say what became of it: one of {known}"
        raise InvalidRequestError(UNKNOWN_VERDICT, "verdict", detail)
    if not command.evidence.strip():
        detail = "say what shows it, such as the provider's statement"
        raise InvalidRequestError(EVIDENCE_REQUIRED, "evidence", detail)


def _agreed(
    delivery: GoodsDelivery, command: Decide, *, is_override: bool
) -> tuple[GoodsEvent, ...]:
    """Two people buy again: one proposes, another one agrees to the same."""
    proposal = delivery.proposal
    if proposal is None or proposal.is_override != is_override:
        return (
            DecisionProposed(
                by=command.by,
                verdict=command.verdict,
                evidence=command.evidence,
                is_override=is_override,
            ),
        )
    if proposal.by == command.by:
        raise SecondPersonError(delivery.stage, "decide", stream="delivery")
    return _decided(delivery, command, is_override=is_override, proposed=proposal)


def _decided(
    delivery: GoodsDelivery,
    command: Decide,
    *,
    is_override: bool,
    proposed: Proposal | None,
) -> tuple[GoodsEvent, ...]:
    decided = ReviewDecided(
        verdict=command.verdict,
        evidence=command.evidence,
        is_override=is_override,
        proposed_by=None if proposed is None else proposed.by,
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
