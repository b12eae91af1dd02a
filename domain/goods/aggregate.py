"""Decide and evolve: one delivery of goods, from what is owed to its end.

            Owe
 (unborn) ─────► pending ◄── Retry ── failed ── Refund ───────────────┐
                 │  ▲  │                ▲                             ▼
                 │  │  ├─ Fail ─────────┘ (never asked)           refunded ■
                 │  │  └─ Cancel ──► cancelled ■ (or refunded)       ▲  ▲
          Submit │  │ Refuse (again), Withdraw, Reconcile (absent)   │  │
                 ▼  │                                                │  │
               submitted ── Refuse (for good, or six are spent) ─────┘  │
                 │  │  ▲                                                │
                 │  │  └─ Accept, LoseTrack, Submit (again, same key)   │
                 │  └─ Confirm, Reconcile (delivered) ──► delivered ■   │
                 │                                          ▲           │
    OpenReview,  │          Confirm, Decide (delivered) ────┤           │
    Fail         └──► needs_review ─────────────────────────┘           │
                      │  └─ Decide (not purchased) ─────────────────────┘
                      └─ Decide (buy again) ──► pending

A purchase is never called undone because nothing was heard of it: what is unknown is
reconciled where the provider can answer conclusively, else it waits for a person.
That something was bought is believed whenever the provider tells it, of a pending
delivery too; only that ends a review without a person.  Restore makes whatever is
open unknown, and leaves a review one.
"""

from typing import assert_never

from domain.errors import IllegalTransitionError
from domain.goods import answers, asking, ending, review
from domain.goods.commands import (
    Accept,
    Cancel,
    Confirm,
    Decide,
    Defer,
    EndSender,
    Fail,
    GoodsCommand,
    LoseTrack,
    OpenReview,
    Owe,
    Reconcile,
    Refund,
    Refuse,
    Restore,
    Retry,
    Submit,
    Withdraw,
)
from domain.goods.events import GoodsEvent, Owed
from domain.goods.evolving import evolve
from domain.goods.state import GoodsDelivery, Stage

__all__ = ["decide", "evolve", "fold"]


def decide(delivery: GoodsDelivery, command: GoodsCommand) -> tuple[GoodsEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case Owe():
            return _owe(delivery, command)
        case Submit() | Withdraw() | LoseTrack() | Restore():
            return asking.decide(delivery, command)
        case Confirm() | Accept() | Refuse():
            return answers.decide(delivery, command)
        case EndSender() | Reconcile() | OpenReview() | Decide():
            return review.decide(delivery, command)
        case Defer() | Fail() | Refund() | Cancel() | Retry():
            return ending.decide(delivery, command)
        case _:
            assert_never(command)


def fold(
    events: tuple[GoodsEvent, ...], delivery: GoodsDelivery | None = None
) -> GoodsDelivery:
    """Return the state after `events`."""
    state = GoodsDelivery() if delivery is None else delivery
    for event in events:
        state = evolve(state, event)
    return state


def _owe(delivery: GoodsDelivery, command: Owe) -> tuple[GoodsEvent, ...]:
    if delivery.stage is not Stage.UNBORN:
        raise IllegalTransitionError(delivery.stage, "owe", stream="delivery")
    return (
        Owed(
            order=command.order,
            order_id=command.order_id,
            customer_id=command.customer_id,
            line=command.line,
            provider=command.provider,
            product=command.product,
            quantity=command.quantity,
            recipient=command.recipient,
            currency=command.currency,
            cost_minor=command.cost_minor,
            price_minor=command.price_minor,
            paid_minor=command.paid_minor,
        ),
    )
