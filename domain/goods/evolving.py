"""The state after an event of a delivery.  Total: history is never rejected."""

from typing import assert_never

from msgspec.structs import replace

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
    RESTORED,
    GoodsDelivery,
    Proposal,
    Stage,
    Standing,
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
            return replace(state, reference=event.reference, senders=state.senders[:-1])
        case PurchaseAccepted():
            return replace(
                state,
                standing=Standing.ACCEPTED,
                reference=event.reference or state.reference,
                senders=state.senders[:-1],
                code=None,
            )
        case PurchaseRefused():
            return _refused(state, event)
        case PurchaseUnknown():
            return _unknown(state, event)
        case SenderEnded():
            left = tuple(each for each in state.senders if each != event.sender)
            return replace(state, senders=left)
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
    return replace(
        state,
        stage=Stage.SUBMITTED,
        standing=Standing.ASKED,
        withdraws_to=state.standing,
        purchases=event.purchase,
        decision=event.decision,
        key=event.key,
        token=event.token,
        senders=(*state.senders, event.sender),
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
    return replace(
        state,
        stage=Stage.SUBMITTED if is_repeated else Stage.PENDING,
        standing=state.withdraws_to,
        purchases=event.purchase - 1,
        decision=event.decision if is_repeated else event.decision - 1,
        senders=state.senders[:-1],
    )


def _refused(state: GoodsDelivery, event: PurchaseRefused) -> GoodsDelivery:
    return replace(
        state,
        stage=Stage.PENDING,
        standing=Standing.NONE,
        senders=state.senders[:-1],
        failure_class=event.failure_class,
        code=event.code,
        next_at=event.next_at,
    )


def _unknown(state: GoodsDelivery, event: PurchaseUnknown) -> GoodsDelivery:
    return replace(
        state,
        stage=Stage.SUBMITTED,
        standing=Standing.UNKNOWN,
        senders=state.senders[:-1] if event.is_sender_gone else state.senders,
        code=event.code,
        is_restored=state.is_restored or event.code == RESTORED,
        next_at=None,
    )


def _reconciled(state: GoodsDelivery, event: Reconciled) -> GoodsDelivery:
    match event.found:
        case "accepted" if state.stage is Stage.SUBMITTED:
            return replace(
                state,
                standing=Standing.ACCEPTED,
                reference=event.reference or state.reference,
                code=None,
            )
        case "absent" if event.is_conclusive and state.stage is Stage.SUBMITTED:
            return replace(
                state,
                stage=Stage.PENDING,
                standing=Standing.NONE,
                senders=(),
                code=event.code,
                is_restored=False,
                next_at=None,
            )
        case _:
            return replace(
                state, reference=event.reference or state.reference, code=event.code
            )


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
    return replace(
        state,
        stage=Stage.PENDING,
        standing=Standing.NONE,
        senders=(),
        proposal=None,
        is_doubtful=True,
        is_restored=False,
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
