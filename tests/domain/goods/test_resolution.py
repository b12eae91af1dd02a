"""What follows from what is known, and what an absence proves."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.goods.commands import Defer, EndSender, GoodsCommand, Restore
from domain.goods.resolution import (
    Buy,
    Facts,
    Finding,
    LookUp,
    Lose,
    Nothing,
    Repeat,
    Review,
    Step,
    WaitUntil,
    absence_is_conclusive,
    absence_is_proved,
    after_absence,
    backoff,
    found_of,
    look_up,
    next_step,
)
from tests.domain.goods.deliveries import (
    AT,
    CONFIRM,
    DEAD,
    LOST,
    RESTORE,
    REVIEW,
    TIMEOUT,
    accept,
    after,
    owed,
    refuse,
    says,
    sender,
    submit,
)

BLIND = Facts()
POLLED = Facts(can_look_up=True)
TOLD = Facts(can_look_up=True, is_lookup_authoritative=True)
EXPIRING = Facts(
    can_look_up=True, is_lookup_authoritative=True, expiry=timedelta(minutes=10)
)
REPEATED = submit(repeat_until=after(60))
EXPIRES = submit(expires_at=after(10))
GONE = EndSender(sender=sender(), how="process_gone", at=AT)


@pytest.mark.parametrize(
    ("commands", "facts", "step"),
    [
        ((), BLIND, Buy()),
        ((Defer(code="quarantined", until=after(1)),), BLIND, WaitUntil(after(1))),
        ((submit(), refuse()), BLIND, Buy()),
        ((submit(),), TOLD, Lose()),
        # Nobody can be asked: a person, or the same key again.
        ((submit(), TIMEOUT), BLIND, Review("timeout")),
        ((submit(), LOST), BLIND, Review("lease_lost")),
        ((REPEATED, LOST), BLIND, Repeat()),
        ((submit(repeat_until=after(4)), LOST), BLIND, Review("lease_lost")),
        # Who can be asked is asked first.
        ((REPEATED, LOST), TOLD, LookUp((1,), is_conclusive=False)),
        ((REPEATED, LOST), POLLED, Repeat()),
        ((submit(), LOST), POLLED, LookUp((1,), is_conclusive=False)),
        ((submit(), LOST), TOLD, LookUp((1,), is_conclusive=False)),
        ((submit(), TIMEOUT), TOLD, LookUp((1,), is_conclusive=False)),
        # What is accepted is asked for when it is due.
        ((submit(), accept()), POLLED, WaitUntil(after(1))),
        ((submit(), accept()), BLIND, WaitUntil(after(1))),
        # What a restore has lost is looked for under every key, or by a person.
        ((RESTORE,), TOLD, LookUp((1, 2, 3, 4, 5, 6), is_conclusive=False)),
        (
            (submit(), refuse(), submit(2), RESTORE),
            TOLD,
            LookUp((2, 3, 4, 5, 6), is_conclusive=False),
        ),
        ((REPEATED, RESTORE), BLIND, Review("restored")),
        ((RESTORE,), POLLED, Review("restored")),
        # It is over, or somebody else's.
        ((submit(), CONFIRM), TOLD, Nothing()),
        ((submit(), TIMEOUT, REVIEW), TOLD, Nothing()),
        ((DEAD,), TOLD, Nothing()),
    ],
)
def test_what_is_to_be_done(
    commands: tuple[GoodsCommand, ...], facts: Facts, step: Step
) -> None:
    assert next_step(owed(*commands), facts, AT) == step


def test_what_was_accepted_of_a_provider_that_cannot_be_asked_is_for_a_person() -> None:
    accepted = owed(submit(), accept())

    assert next_step(accepted, BLIND, after(1)) == Review("poll_unsupported")
    assert next_step(accepted, POLLED, after(1)) == LookUp((1,), is_conclusive=False)
    assert after_absence(accepted, TOLD, after(1)) == Review("accepted_then_absent")


@pytest.mark.parametrize(
    ("commands", "facts", "at", "is_conclusive"),
    [
        # Its sender is over and its bytes have arrived.
        ((submit(), TIMEOUT), TOLD, after(1.9), False),
        ((submit(), TIMEOUT), TOLD, after(2), True),
        ((submit(), LOST), TOLD, after(9999), False),
        ((submit(), LOST, GONE), TOLD, after(2), True),
        # Where the request expires that alone counts, by the slower clock.
        ((EXPIRES, TIMEOUT), EXPIRING, after(10.9), False),
        ((EXPIRES, TIMEOUT), EXPIRING, after(11), True),
        ((EXPIRES, LOST), EXPIRING, after(11), True),
        # A provider that does not enforce it any more lets nobody wait for it.
        ((EXPIRES, LOST), TOLD, after(11), False),
        # What a restore lost was sent before that was noticed, by nobody knows whom.
        ((submit(), TIMEOUT, Restore(after(5))), EXPIRING, after(15.9), False),
        ((submit(), TIMEOUT, Restore(after(5))), EXPIRING, after(16), True),
        ((submit(), TIMEOUT, Restore(after(5))), TOLD, after(9999), False),
        # Who was never asked, or says that he delivers, proves nothing.
        ((submit(), TIMEOUT), POLLED, after(2), False),
        ((submit(), accept()), TOLD, after(2), False),
        ((submit(),), TOLD, after(2), False),
    ],
)
def test_when_an_absence_proves_that_nothing_will_be_bought(
    commands: tuple[GoodsCommand, ...],
    facts: Facts,
    at: datetime,
    *,
    is_conclusive: bool,
) -> None:
    delivery = owed(*commands)

    assert absence_is_conclusive(delivery, facts, at) is is_conclusive
    asked = look_up(delivery, facts, at)
    assert asked is not None
    assert asked.is_conclusive is is_conclusive


@pytest.mark.parametrize(
    ("facts", "told_at", "is_proved"),
    [
        (EXPIRING, after(10), True),
        (EXPIRING, after(9.9), False),
        (EXPIRING, None, False),
        (TOLD, after(9999), False),
    ],
)
def test_the_provider_s_own_clock_says_when_a_request_has_expired(
    facts: Facts, told_at: datetime | None, *, is_proved: bool
) -> None:
    frozen = owed(EXPIRES, LOST)
    look = look_up(frozen, facts, AT)

    assert look is not None
    assert absence_is_proved(frozen, facts, look, told_at) is is_proved
    settled = look_up(frozen, facts, after(11))
    if settled is not None and settled.is_conclusive:
        assert absence_is_proved(frozen, facts, settled, None)


def test_a_sender_at_large_of_another_decision_does_not_keep_this_one_open() -> None:
    override = says("buy_again", is_override=True)
    again = owed(submit(), LOST, REVIEW, override, submit(2), TIMEOUT)

    assert [each.decision for each in again.senders] == [1]
    assert absence_is_conclusive(again, TOLD, after(2))


@pytest.mark.parametrize(
    ("commands", "facts", "at", "step"),
    [
        ((REPEATED, LOST), TOLD, AT, Repeat()),
        ((submit(), TIMEOUT), TOLD, AT, WaitUntil(after(2))),
        ((EXPIRES, LOST), EXPIRING, AT, WaitUntil(after(11))),
        ((submit(), LOST), TOLD, AT, WaitUntil(after(0.5))),
        ((submit(), LOST), TOLD, after(16.9), WaitUntil(after(17.4))),
        ((submit(), LOST), TOLD, after(17), Review("sender_not_gone")),
        ((submit(), TIMEOUT), POLLED, AT, Review("timeout")),
        ((RESTORE,), TOLD, AT, Review("restored")),
        ((RESTORE,), EXPIRING, AT, WaitUntil(after(11))),
    ],
)
def test_what_follows_an_absence_that_proves_nothing(
    commands: tuple[GoodsCommand, ...], facts: Facts, at: datetime, step: Step
) -> None:
    assert after_absence(owed(*commands), facts, at) == step


def test_nothing_is_looked_up_where_nobody_answers() -> None:
    assert look_up(owed(submit(), TIMEOUT, REVIEW), BLIND, AT) is None
    assert look_up(owed(submit(), TIMEOUT, REVIEW), TOLD, after(2)) == LookUp(
        (1,), is_conclusive=True
    )


@pytest.mark.parametrize(
    ("said", "found", "decision"),
    [
        (("absent", "absent", "absent"), "absent", 0),
        (("absent", "refused", "absent"), "refused", 2),
        (("refused", "refused", "absent"), "refused", 2),
        (("refused", "unclear", "absent"), "unclear", 2),
        (("unclear", "accepted", "absent"), "accepted", 2),
        (("accepted", "delivered", "unclear"), "delivered", 2),
    ],
)
def test_what_several_answers_come_to(
    said: tuple[str, ...], found: str, decision: int
) -> None:
    findings = [Finding(decision=n, found=what) for n, what in enumerate(said, start=1)]

    told = found_of(owed(), findings)

    assert (told.found, told.decision) == (found, decision)


@given(st.integers(1, 1000), st.integers(1, 600))
def test_pauses_double_up_to_an_hour(purchases: int, base: int) -> None:
    pause = backoff(purchases, timedelta(seconds=base))

    assert timedelta() < pause <= timedelta(hours=1)
    assert pause <= backoff(purchases + 1, timedelta(seconds=base))


def test_the_pauses_are_those_of_the_original() -> None:
    """Requirements 9.1: 2, 4, 8, 16, 32 minutes after purchases 1 to 5."""
    minutes = [
        backoff(n, timedelta(minutes=1)) // timedelta(minutes=1) for n in range(1, 6)
    ]

    assert minutes == [2, 4, 8, 16, 32]
