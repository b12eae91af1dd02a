"""The state after an event of a delivery.  Total: history is never rejected."""

from typing import assert_never

from msgspec.structs import replace

from domain.event import Instant
from domain.goods.events import (
    Cancelled,
    DecisionProposed,
    Deferred,
    Delivered,
    Failed,
    GoodsEvent,
    Owed,
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseSubmitted,
    PurchaseUnknown,
    PurchaseWithdrawn,
    Reconciled,
    Refunded,
    Retried,
    ReviewDecided,
    ReviewOpened,
    SenderEnded,
)
from domain.goods.state import (
    BUY_AGAIN,
    Asking,
    GoodsDelivery,
    Proposal,
    Stage,
    Standing,
    key_of,
)


def evolve(delivery: GoodsDelivery, event: GoodsEvent) -> GoodsDelivery:
    """Return the state after `event`."""
    state = replace(delivery, version=delivery.version + 1)
    match event:
        case Owed():
            return _owed(state, event)
        case PurchaseSubmitted():
            return _submitted(state, event)
        case PurchaseWithdrawn():
            return _withdrawn(state, event)
        case PurchaseConfirmed():
            known = _known(state, event.decision)
            reference = event.reference or state.reference
            return replace(known, reference=reference, proposal=None)
        case PurchaseAccepted():
            return _accepted(state, event.reference, event.next_at)
        case PurchaseRefused():
            return _refused(state, event)
        case PurchaseUnknown():
            return _unknown(state, event)
        case SenderEnded():
            return _ended(state, event)
        case Reconciled():
            return _reconciled(state, event)
        case ReviewOpened():
            return replace(
                state, stage=Stage.NEEDS_REVIEW, code=event.code, next_at=None
            )
        case DecisionProposed() | ReviewDecided():
            return _reviewed(state, event)
        case Deferred():
            return replace(state, deferred_code=event.code, next_at=event.until)
        case Delivered() | Failed() | Refunded() | Cancelled() | Retried():
            return _moved(state, event)
        case _:
            assert_never(event)


def _owed(state: GoodsDelivery, event: Owed) -> GoodsDelivery:
    return replace(
        state,
        stage=Stage.PENDING,
        order=event.order,
        order_id=event.order_id,
        customer_id=event.customer_id,
        line=event.line,
        provider=event.provider,
        product=event.product,
        quantity=event.quantity,
        recipient=event.recipient,
        currency=event.currency,
        cost_minor=event.cost_minor,
        price_minor=event.price_minor,
        paid_minor=event.paid_minor,
    )


def _submitted(state: GoodsDelivery, event: PurchaseSubmitted) -> GoodsDelivery:
    asking = Asking(
        purchase=event.purchase, decision=event.decision, sender=event.sender
    )
    return replace(
        state,
        stage=Stage.SUBMITTED,
        standing=Standing.ASKED,
        withdraws_to=state.standing,
        purchases=event.purchase,
        decision=event.decision,
        key=event.key,
        token=event.token,
        senders=(*state.senders, asking),
        deadline=event.deadline,
        expires_at=event.expires_at,
        repeat_until=event.repeat_until,
        reference=state.reference if event.decision == state.decision else None,
        next_at=None,
        deferred_code=None,
    )


def _withdrawn(state: GoodsDelivery, event: PurchaseWithdrawn) -> GoodsDelivery:
    """Return the state in which the submission never was."""
    is_repeated = state.withdraws_to is Standing.UNKNOWN
    decision = event.decision if is_repeated else event.decision - 1
    return replace(
        state,
        stage=Stage.SUBMITTED if is_repeated else Stage.PENDING,
        standing=state.withdraws_to,
        purchases=event.purchase - 1,
        decision=decision,
        key=_key(state, decision),
        senders=tuple(
            each for each in state.senders if each.purchase != event.purchase
        ),
    )


def _accepted(
    state: GoodsDelivery, reference: str | None, next_at: Instant | None
) -> GoodsDelivery:
    return replace(
        state,
        stage=Stage.SUBMITTED,
        standing=Standing.ACCEPTED,
        reference=reference or state.reference,
        code=None,
        next_at=next_at,
    )


def _refused(state: GoodsDelivery, event: PurchaseRefused) -> GoodsDelivery:
    return replace(
        _over(state, event.decision),
        failure_class=event.failure_class,
        code=event.code,
        next_at=event.next_at,
    )


def _unknown(state: GoodsDelivery, event: PurchaseUnknown) -> GoodsDelivery:
    is_reviewed = state.stage is Stage.NEEDS_REVIEW
    left = tuple(each for each in state.senders if each.purchase != state.purchases)
    return replace(
        state,
        stage=Stage.NEEDS_REVIEW if is_reviewed else Stage.SUBMITTED,
        standing=Standing.UNKNOWN,
        senders=left if event.is_sender_gone else state.senders,
        deadline=_later(state.deadline, event.quiet_at),
        code=event.code,
        restored_at=event.restored_at or state.restored_at,
        proposal=None,  # it was made before that was known
        next_at=None,
    )


def _ended(state: GoodsDelivery, event: SenderEnded) -> GoodsDelivery:
    if event.purchase is not None:
        left = [each for each in state.senders if each.purchase != event.purchase]
    else:
        left = [each for each in state.senders if each.sender != event.sender]
    return replace(
        state, senders=tuple(left), deadline=_later(state.deadline, event.quiet_at)
    )


def _later(first: Instant | None, second: Instant | None) -> Instant | None:
    instants = [each for each in (first, second) if each is not None]
    return max(instants, default=None)


def _reconciled(state: GoodsDelivery, event: Reconciled) -> GoodsDelivery:
    known = _known(state, event.decision)
    is_asked = state.stage is Stage.SUBMITTED
    if event.found in {"accepted", "delivered"}:
        known = replace(known, proposal=None)  # likewise
    match event.found:
        case "accepted" if is_asked:
            return _accepted(known, event.reference, None)
        case "absent" if event.is_conclusive and state.standing is Standing.UNKNOWN:
            told = replace(known, code=event.code or event.found)
            return _over(told, event.decision) if is_asked else told
        case _:
            return replace(
                known,
                reference=event.reference or state.reference,
                code=event.code or event.found,
            )


def _known(state: GoodsDelivery, decision: int) -> GoodsDelivery:
    """Return the state that knows of a decision, also of one that a restore lost."""
    if decision <= state.decision:
        return state
    return replace(
        state,
        decision=decision,
        key=_key(state, decision),
        purchases=max(state.purchases, decision),
    )


def _over(state: GoodsDelivery, decision: int) -> GoodsDelivery:
    """Return the state in which nothing was bought under `decision`, nor will be."""
    return replace(
        _known(state, decision),
        stage=Stage.PENDING,
        standing=Standing.NONE,
        senders=tuple(each for each in state.senders if each.decision != decision),
        restored_at=None,
        next_at=None,
    )


def _key(state: GoodsDelivery, decision: int) -> str | None:
    if state.order is None or decision == 0:
        return None
    return key_of(state.order, state.line, decision)


def _reviewed(
    state: GoodsDelivery, event: DecisionProposed | ReviewDecided
) -> GoodsDelivery:
    if isinstance(event, DecisionProposed):
        proposal = Proposal(
            verdict=event.verdict,
            evidence=event.evidence,
            is_override=event.is_override,
            by=event.by,
        )
        return replace(state, proposal=proposal)
    if event.verdict != BUY_AGAIN:
        return replace(state, proposal=None)
    is_open = state.standing is not Standing.NONE
    return replace(
        state,
        stage=Stage.PENDING,
        standing=Standing.NONE,
        proposal=None,
        is_doubtful=state.is_doubtful or is_open,
        restored_at=None,
        next_at=None,
    )


def _moved(
    state: GoodsDelivery, event: Delivered | Failed | Refunded | Cancelled | Retried
) -> GoodsDelivery:
    match event:
        case Delivered():
            return replace(
                state,
                stage=Stage.DELIVERED,
                standing=Standing.NONE,
                senders=(),
                reference=event.reference,
                code=None,
                failure_class=None,
                next_at=None,
            )
        case Failed():
            return replace(state, stage=Stage.FAILED, code=event.code, next_at=None)
        case Refunded():
            return replace(
                state,
                stage=Stage.REFUNDED,
                standing=Standing.NONE,
                senders=(),
                code=event.code,
                refunded_minor=event.amount_minor,
                next_at=None,
            )
        case Cancelled():
            return replace(state, stage=Stage.CANCELLED, code=event.code, next_at=None)
        case Retried():
            return replace(
                state, stage=Stage.PENDING, code=None, deferred_code=None, next_at=None
            )
        case _:
            assert_never(event)
