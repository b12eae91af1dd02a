"""What to do next for a delivery, and what an answer to a look-up proves.

A provider that can be asked what became of a key is asked.  That it does not know the
key proves that nothing was and will be bought only where no request under it can
still arrive: `absence_is_conclusive`.  One that promises one effect per key is asked
to buy again under the same key, as long as it promises that.  Everything else waits
for a person (mechanisms 26 to 28).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, assert_never

import msgspec

from domain.event import Instant
from domain.goods.answers import (
    ABSENT,
    FOUND_ACCEPTED,
    FOUND_DELIVERED,
    FOUND_REFUSED,
    UNCLEAR,
)
from domain.goods.ending import ATTEMPTS_EXHAUSTED
from domain.goods.state import (
    MOST_PURCHASES,
    RESTORED,
    GoodsDelivery,
    Stage,
    Standing,
    askings_of,
)

MARGIN: Final = timedelta(seconds=60)
"""How far the provider's clock may be behind ours."""

REPEAT_MARGIN: Final = timedelta(minutes=5)
"""How long before the promise ends the key is sent no more: calls take their time."""

LOOK_AGAIN: Final = timedelta(seconds=30)
"""How often it is looked whether a sender is dead by now."""

PATIENCE: Final = timedelta(minutes=15)
"""How long after its deadline a sender's end is waited for before a person is asked."""

POLL_UNSUPPORTED: Final = "poll_unsupported"
SENDER_NOT_GONE: Final = "sender_not_gone"
ACCEPTED_THEN_ABSENT: Final = "accepted_then_absent"

BACKOFF_CAP: Final = timedelta(minutes=60)
"""Longest pause between two purchases (requirements 9.1)."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider of a delivery can do, as far as it decides what follows."""

    can_look_up: bool = False
    is_lookup_authoritative: bool = False
    expiry: timedelta | None = None


class Buy(msgspec.Struct, frozen=True):
    """Take a new decision to buy, under a key of its own."""


class Repeat(msgspec.Struct, frozen=True):
    """Ask again under the same key, with the same request."""


class Lose(msgspec.Struct, frozen=True):
    """A submission is on record whose claim is over: record that it is unknown."""


class LookUp(msgspec.Struct, frozen=True):
    """Ask the provider what became of these decisions, all of them."""

    decisions: tuple[int, ...]
    is_conclusive: bool
    """Whether it proves that nothing can be bought, if none of them was."""


class WaitUntil(msgspec.Struct, frozen=True):
    """Look again at that instant."""

    at: Instant


class Review(msgspec.Struct, frozen=True):
    """Only a person can tell."""

    code: str


class Nothing(msgspec.Struct, frozen=True):
    """Nothing is to be done: it has ended, or a person has it."""


type Step = Buy | Repeat | Lose | LookUp | WaitUntil | Review | Nothing


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider said of one decision."""

    decision: int
    found: str
    reference: str | None = None
    code: str | None = None
    failure_class: str | None = None


def next_step(delivery: GoodsDelivery, facts: Facts, now: Instant) -> Step:
    """Return what the holder of a delivery's job has to do at `now`."""
    match delivery.stage:
        case Stage.PENDING:
            return _next_purchase(delivery, now)
        case Stage.SUBMITTED:
            return _next_look(delivery, facts, now)
        case (
            Stage.UNBORN
            | Stage.NEEDS_REVIEW
            | Stage.DELIVERED
            | Stage.FAILED
            | Stage.REFUNDED
            | Stage.CANCELLED
        ):
            return Nothing()
        case _:
            assert_never(delivery.stage)


def look_up(delivery: GoodsDelivery, facts: Facts, now: Instant) -> LookUp | None:
    """Return what can be asked of what became of it; None: nothing.

    Holds for a review as well, where whatever is found is evidence.
    """
    if not facts.can_look_up:
        return None
    first = max(delivery.decision, 1)
    if delivery.is_restored:
        decisions = tuple(range(first, MOST_PURCHASES + 1))
    else:
        decisions = (first,)
    return LookUp(decisions, absence_is_conclusive(delivery, facts, now))


def after_absence(
    delivery: GoodsDelivery, facts: Facts, now: Instant
) -> Repeat | WaitUntil | Review:
    """Return what follows when no key was known, which proved nothing."""
    if delivery.standing is Standing.ACCEPTED:
        return Review(ACCEPTED_THEN_ABSENT)
    if may_repeat(delivery, now):
        return Repeat()
    if not facts.is_lookup_authoritative:
        return Review(delivery.code or UNCLEAR)
    settled = _settled_at(delivery, facts)
    if settled is not None:
        # A look that came a moment too early proves nothing, but the next one will.
        return WaitUntil(max(settled, now + timedelta(seconds=1)))
    if delivery.is_restored:
        return Review(RESTORED)
    if delivery.deadline is None or now >= delivery.deadline + PATIENCE:
        return Review(SENDER_NOT_GONE)
    return WaitUntil(now + LOOK_AGAIN)


def absence_is_conclusive(delivery: GoodsDelivery, facts: Facts, now: Instant) -> bool:
    """Return whether a key that is unknown from now on can buy nothing any more.

    To be asked before the provider is.
    """
    settled = _settled_at(delivery, facts)
    is_unknown = delivery.standing is Standing.UNKNOWN
    return is_unknown and settled is not None and settled <= now


def absence_is_proved(
    delivery: GoodsDelivery, facts: Facts, look: LookUp, told_at: Instant | None
) -> bool:
    """Return whether the absence that `look` found ends the decision.

    `told_at` is the provider's own clock when it answered: the clock that refuses
    what has expired, so it alone decides, and there is nothing to allow for.
    """
    expired = _expired_at(delivery, facts)
    if told_at is None or expired is None:
        return look.is_conclusive
    return delivery.standing is Standing.UNKNOWN and expired <= told_at


def may_repeat(delivery: GoodsDelivery, now: Instant) -> bool:
    """Return whether the same request under the same key has one effect at most."""
    until = delivery.repeat_until
    return (
        delivery.standing is Standing.UNKNOWN
        and not delivery.is_restored
        and delivery.purchases < MOST_PURCHASES
        and until is not None
        and now + REPEAT_MARGIN <= until
    )


def found_of(delivery: GoodsDelivery, findings: Sequence[Finding]) -> Finding:
    """Return what the answers about several decisions come to.

    That one of them bought outweighs everything, and one unclear answer outweighs
    every refusal and absence.
    """
    latest = sorted(findings, key=lambda each: each.decision, reverse=True)
    for found in (FOUND_DELIVERED, FOUND_ACCEPTED, UNCLEAR, FOUND_REFUSED):
        for finding in latest:
            if finding.found == found:
                return finding
    return Finding(decision=delivery.decision, found=ABSENT)


def backoff(purchases: int, base: timedelta) -> timedelta:
    """Return the pause after the n-th purchase: 2, 4, 8, 16, 32 times the base."""
    return min(base * (1 << min(purchases, 16)), BACKOFF_CAP)


def _next_purchase(delivery: GoodsDelivery, now: Instant) -> Step:
    if delivery.purchases >= MOST_PURCHASES:
        return Review(ATTEMPTS_EXHAUSTED)
    if delivery.next_at is not None and now < delivery.next_at:
        return WaitUntil(delivery.next_at)
    return Buy()


def _next_look(delivery: GoodsDelivery, facts: Facts, now: Instant) -> Step:
    if delivery.standing is Standing.ASKED:
        return Lose()
    if delivery.next_at is not None and now < delivery.next_at:
        return WaitUntil(delivery.next_at)
    look = look_up(delivery, facts, now)
    if delivery.standing is Standing.ACCEPTED:
        return look or Review(POLL_UNSUPPORTED)
    if delivery.is_restored:
        is_told = facts.is_lookup_authoritative
        return look if look is not None and is_told else Review(RESTORED)
    if look is not None and facts.is_lookup_authoritative:
        return look
    if may_repeat(delivery, now):
        return Repeat()
    return look or Review(delivery.code or UNCLEAR)


def _settled_at(delivery: GoodsDelivery, facts: Facts) -> Instant | None:
    """Return from when on no request under its keys can begin; None: not known.

    What a restore has lost was submitted before that was noticed, and by whom is not
    known, so only its expiry ends it.
    """
    if not facts.is_lookup_authoritative:
        return None
    expired = _expired_at(delivery, facts)
    if expired is not None:
        return expired + MARGIN
    if delivery.is_restored or askings_of(delivery, delivery.decision):
        return None
    return delivery.deadline


def _expired_at(delivery: GoodsDelivery, facts: Facts) -> Instant | None:
    """Return when the provider refuses, by its clock, to begin what was asked."""
    if not facts.is_lookup_authoritative or facts.expiry is None:
        return None
    if delivery.restored_at is not None:
        return delivery.restored_at + facts.expiry
    return delivery.expires_at
