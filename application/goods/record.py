"""Whoever ends or moves a job moves its delivery in the same transaction.

 job                        delivery that was asked for   otherwise
 released, never asked  ►   purchase_withdrawn            –
 released, snoozed,
 parked, attempt_failed,
 lease_expired          ►   purchase_unknown              –
 succeeded              ►   unknown, then in review       –
 discarded              ►   unknown, then in review       failed if never asked for, or
                                                          in review
 cancelled              ►   unknown, then in review       cancelled and refunded if
                                                          nothing is open, or in review
 retried                ►   –                             retried if it had failed

"Asked for" is what nobody has answered to: what the handler itself has said comes
first, and mostly leaves nothing to follow.  Only a process that knows that not one
request left it takes a submission back; anybody else calls it unknown.
"""

from collections.abc import Sequence
from typing import assert_never

from application.unit import Head, changed
from domain.event import Event
from domain.goods.aggregate import decide, evolve
from domain.goods.commands import (
    Cancel,
    Fail,
    GoodsCommand,
    LoseTrack,
    OpenReview,
    Retry,
    Withdraw,
)
from domain.goods.state import FINAL, GoodsDelivery, Stage, Standing
from domain.jobs.events import (
    AttemptFailed,
    Cancelled,
    CancelRequested,
    Claimed,
    Discarded,
    Enqueued,
    JobEvent,
    LeaseExpired,
    Parked,
    Released,
    Rescheduled,
    Retried,
    Snoozed,
    Succeeded,
    Unparked,
)
from domain.stream import Change, Ref

_OPEN = frozenset({Stage.PENDING, Stage.SUBMITTED})
"""Stages in which something is still to be done without a person."""

_ENDED = frozenset({*FINAL, Stage.UNBORN})

UNRECORDED = "unrecorded"
"""Code of a purchase whose run ended without a word about it."""


def follow(
    delivery: GoodsDelivery, event: JobEvent, *, has_called: bool
) -> tuple[GoodsDelivery, tuple[Event, ...]]:
    """Return the delivery after its job's event, and what it had to say.

    `has_called` says whether the claim that ended may have asked a provider.
    """
    told: list[Event] = []
    for command in _commands(delivery, event, has_called=has_called):
        for each in decide(delivery, command):
            told.append(each)
            delivery = evolve(delivery, each)
    return delivery, tuple(told)


def _commands(
    delivery: GoodsDelivery, event: JobEvent, *, has_called: bool
) -> tuple[GoodsCommand, ...]:
    if delivery.stage in _ENDED:
        return ()
    is_asked = delivery.stage is Stage.SUBMITTED and delivery.standing is Standing.ASKED
    code = _code(event)
    lost = (LoseTrack(code=code, is_sender_gone=False),) if is_asked else ()
    match event:
        case Released() if is_asked and not has_called:
            return (Withdraw(event.cause),)
        case Released() | Snoozed() | Parked() | AttemptFailed() | LeaseExpired():
            return lost
        case Succeeded():
            return (*lost, OpenReview(code)) if is_asked else ()
        case Discarded():
            return (*lost, Fail(code))
        case Cancelled():
            return (*lost, *_cancelled(delivery, code))
        case Retried():
            return (Retry(),) if delivery.stage is Stage.FAILED else ()
        case Enqueued() | Claimed() | CancelRequested() | Unparked() | Rescheduled():
            return ()
        case _:
            assert_never(event)


def _cancelled(delivery: GoodsDelivery, code: str) -> tuple[GoodsCommand, ...]:
    """Return what ends a delivery whose job was cancelled: money, or a person."""
    if delivery.stage is Stage.SUBMITTED or delivery.is_doubtful:
        return (OpenReview(code),) if delivery.stage in _OPEN else ()
    if delivery.stage in {Stage.PENDING, Stage.FAILED}:
        return (Cancel(code=code, refunds=True),)
    return ()


def _code(event: JobEvent) -> str:
    match event:
        case AttemptFailed():
            return event.code
        case LeaseExpired():
            return event.cause
        case Discarded():
            return event.error_code or event.code
        case Cancelled():
            return event.code
        case _:
            return UNRECORDED


def record_change(
    ref: Ref,
    head: Head,
    after: Sequence[JobEvent],
    told: Change | None,
    *,
    has_called: bool,
) -> Change | None:
    """Return what the locked delivery does: what was told, then what follows its job.

    None: nothing happens to it.
    """
    before = head.state if told is None else told.state
    if not isinstance(before, GoodsDelivery):
        return told
    delivery, happened = before, list[Event](() if told is None else told.events)
    for event in after:
        delivery, followed = follow(delivery, event, has_called=has_called)
        happened.extend(followed)
    return changed(ref, head, happened, delivery) if happened else None


def may_have_called(delivery: GoodsDelivery, token: int) -> bool:
    """Whether the claim of `token` may have asked the provider, for all that is known.

    Under the delivery's lock: only the holder of the token submits.
    """
    return delivery.standing is Standing.ASKED and delivery.token == token
