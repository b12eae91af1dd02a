"""What a provider said stands, whatever others have written about the delivery.

A callback, a restore, a proof of somebody's death: each moves the delivery on while
the provider is asked.  What it answered is true all the same, so it is told again to
the state as it is locked now, and only its place in the stream is new.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from application.unit import Locked, is_current
from domain.errors import IllegalTransitionError
from domain.event import Event, Instant
from domain.goods import aggregate
from domain.goods.answers import ABSENT, FOUND_DELIVERED, FOUND_REFUSED
from domain.goods.asking import ANSWERED
from domain.goods.commands import (
    Accept,
    Confirm,
    Defer,
    GoodsCommand,
    LoseTrack,
    OpenReview,
    Reconcile,
    Refuse,
    Withdraw,
)
from domain.goods.events import (
    Deferred,
    GoodsEvent,
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseUnknown,
    PurchaseWithdrawn,
    Reconciled,
    ReviewOpened,
    SenderEnded,
)
from domain.goods.state import GoodsDelivery, Stage
from domain.stream import Change

_NOT_FOUND: Final = frozenset({ABSENT, FOUND_REFUSED})

_ASKED: Final = frozenset({Stage.SUBMITTED, Stage.NEEDS_REVIEW})
"""Stages of what somebody may have been asked for."""

CONTRADICTED: Final = "contradicted"
"""Code of a review: it was bought, after others had said that it was not."""


def standing(locked: Locked, change: Change, now: Instant) -> Change | None:
    """Return the change as of the locked head; None when it does not stand any more.

    What is returned without events says that the locked head knows it all already.
    """
    if is_current(locked, change):
        return change
    head = locked.get(change.ref)
    if head is None or not isinstance(head.state, GoodsDelivery) or not change.events:
        return None
    told = told_again(head.state, change.events, now)
    if told is None:
        return None
    events, state = told
    return msgspec.structs.replace(
        change, expected=head.state.version, events=events, state=state
    )


def told_again(
    delivery: GoodsDelivery, events: tuple[Event, ...], now: Instant
) -> tuple[tuple[Event, ...], GoodsDelivery] | None:
    """Return what `events` still add to the delivery; None: they contradict it.

    That it was bought is never dropped while anything can still follow from it.  What
    a look-up has not found proves nothing of a delivery that has moved on: look again.
    """
    if any(isinstance(it, Reconciled) and it.found in _NOT_FOUND for it in events):
        return None
    told: list[Event] = []
    commands = tuple(_commands(events, now))
    if not commands:
        return None  # no provider's answer: it was decided from a read
    for command in commands:
        again = _decided(delivery, command)
        if again is None:
            return None
        told.extend(again)
        delivery = aggregate.fold(again, delivery)
    return tuple(told), delivery


def _decided(
    delivery: GoodsDelivery, command: GoodsCommand
) -> tuple[GoodsEvent, ...] | None:
    is_at_home = delivery.stage in {Stage.PENDING, Stage.SUBMITTED}
    if isinstance(command, Withdraw) and delivery.stage not in _ASKED:
        return None
    try:
        return aggregate.decide(delivery, command)
    except IllegalTransitionError:
        if not _is_bought(command) or not is_at_home:
            return None
        return aggregate.decide(delivery, OpenReview(CONTRADICTED))


def _is_bought(command: GoodsCommand) -> bool:
    match command:
        case Confirm():
            return True
        case Reconcile():
            return command.found == FOUND_DELIVERED
        case _:
            return False


def _commands(events: tuple[Event, ...], now: Instant) -> Iterator[GoodsCommand]:
    """Yield what the events were decided by; what follows by itself has no command."""
    refused = [event for event in events if isinstance(event, PurchaseRefused)]
    told = _Told(
        at=now,
        next_at=(refused[0].next_at if refused else None) or now,
        failure_class=refused[0].failure_class if refused else None,
        is_answer=bool(refused) or any(isinstance(one, SenderEnded) for one in events),
    )
    for n, event in enumerate(events):
        if isinstance(event, PurchaseRefused | SenderEnded) and n > 0:
            continue  # it goes with what was said before it
        command = _command(event, told)
        if command is not None:
            yield command


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the commands say beside the events that they were decided to be."""

    at: Instant
    next_at: Instant
    failure_class: str | None
    is_answer: bool


def _command(event: Event, told: _Told) -> GoodsCommand | None:
    match event:
        case PurchaseConfirmed():
            return Confirm(decision=event.decision, reference=event.reference)
        case PurchaseAccepted():
            return Accept(
                decision=event.decision,
                reference=event.reference,
                next_at=event.next_at,
                is_answer=told.is_answer,
            )
        case PurchaseRefused():
            return Refuse(
                decision=event.decision,
                failure_class=event.failure_class,
                code=event.code,
                next_at=told.next_at,
                is_answer=told.is_answer,
            )
        case PurchaseWithdrawn():
            return Withdraw(event.cause)
        case Reconciled():
            return Reconcile(
                decision=event.decision,
                found=event.found,
                reference=event.reference,
                code=event.code,
                is_conclusive=event.is_conclusive,
                next_at=told.next_at,
                failure_class=told.failure_class,
            )
        case _:
            return _loss_or_pause(event, told)


def _loss_or_pause(event: Event, told: _Told) -> GoodsCommand | None:
    match event:
        case PurchaseUnknown():
            return LoseTrack(
                code=event.code, is_sender_gone=event.is_sender_gone, at=told.at
            )
        case SenderEnded():
            return LoseTrack(code=ANSWERED, is_sender_gone=True, at=told.at)
        case ReviewOpened():
            return OpenReview(event.code)
        case Deferred():
            return Defer(code=event.code, until=event.until)
        case _:
            return None
