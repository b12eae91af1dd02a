"""One delivery, story by story: what is bought, what is not, and what nobody knows."""

import pytest

from domain.errors import IllegalTransitionError
from domain.goods.commands import (
    Cancel,
    Confirm,
    Defer,
    EndSender,
    Fail,
    GoodsCommand,
    Refund,
    Restore,
    Retry,
    Withdraw,
)
from domain.goods.errors import NotDueError, PurchasesSpentError
from domain.goods.state import MOST_PURCHASES, GoodsDelivery, Stage, Standing
from tests.domain.goods.deliveries import (
    AT,
    CONFIRM,
    DEAD,
    LOST,
    OWE,
    RESTORE,
    REVIEW,
    TIMEOUT,
    accept,
    after,
    found,
    owed,
    refuse,
    says,
    sender,
    submit,
    told,
    when,
)

KEY = "goods:00000000-0000-0000-0000-000000000007:2:"


def spent(*, last: GoodsCommand) -> tuple[GoodsCommand, ...]:
    """Return six purchases, of which five were refused and `last` is the answer."""
    steps: list[GoodsCommand] = []
    for n in range(1, MOST_PURCHASES + 1):
        steps += [submit(n), refuse(decision=n)]
    return (*steps[:-1], last)


def test_a_purchase_is_recorded_under_the_key_of_its_decision() -> None:
    events, delivery = when(owed(), submit())

    assert told(events) == ["purchase_submitted"]
    assert (delivery.stage, delivery.standing) == (Stage.SUBMITTED, Standing.ASKED)
    assert (delivery.key, delivery.purchases, delivery.decision) == (f"{KEY}1", 1, 1)
    assert [each.sender for each in delivery.senders] == [sender()]


def test_what_is_confirmed_is_delivered_for_good() -> None:
    events, delivery = when(owed(submit()), CONFIRM)

    assert told(events) == ["purchase_confirmed", "delivered"]
    assert (delivery.stage, delivery.reference) == (Stage.DELIVERED, "R-1")


def test_a_refusal_that_may_pass_is_followed_by_a_new_decision_when_it_is_due() -> None:
    later = refuse()
    events, delivery = when(owed(submit()), later)
    waiting = owed(submit(), refuse(), Defer(code="provider_unconfigured", until=AT))

    again, bought = when(waiting, submit(2))

    assert told(events) == ["purchase_refused"]
    assert (delivery.stage, delivery.senders) == (Stage.PENDING, ())
    assert told(again) == ["purchase_submitted"]
    assert (bought.key, bought.purchases, bought.deferred_code) == (f"{KEY}2", 2, None)


def test_nothing_is_bought_before_it_is_due() -> None:
    """Requirements 9.7, 4: a job that is retried early does not ask early."""
    waiting = owed(Defer(code="provider_unconfigured", until=after(1)))

    with pytest.raises(NotDueError):
        when(waiting, submit(at=after(0.5)))

    assert told(when(waiting, submit(at=after(1)))[0]) == ["purchase_submitted"]


@pytest.mark.parametrize("failure_class", ["permanent", "recipient_invalid"])
def test_what_will_never_be_bought_is_refunded_at_once(failure_class: str) -> None:
    events, delivery = when(owed(submit()), refuse(failure_class, "gateway_rejected"))

    assert told(events) == ["purchase_refused", "failed", "refunded"]
    assert (delivery.refunded_minor, delivery.code) == (190, "gateway_rejected")


def test_i3_the_sixth_refusal_gives_the_money_back() -> None:
    events, delivery = when(
        owed(*spent(last=refuse(decision=6))[:-1]), refuse(decision=6)
    )

    assert told(events) == ["purchase_refused", "failed", "refunded"]
    assert (delivery.purchases, delivery.refunded_minor) == (6, 190)


def test_i3_six_purchases_are_all_of_them() -> None:
    unclear = owed(*spent(last=TIMEOUT), REVIEW)

    with pytest.raises(PurchasesSpentError):
        when(unclear, says("buy_again"))


def test_exhaustion_with_something_unknown_waits_for_a_person() -> None:
    """Requirements 9.7, 6."""
    events, delivery = when(owed(*spent(last=TIMEOUT)), DEAD)

    assert told(events) == ["review_opened"]
    assert delivery.refunded_minor is None


def test_a_conclusive_absence_after_six_purchases_gives_the_money_back() -> None:
    unclear = owed(*spent(last=TIMEOUT))

    events, delivery = when(
        unclear, found("absent", decision=6, is_conclusive=True, code="unknown_key")
    )

    assert told(events) == ["reconciled", "failed", "refunded"]
    assert delivery.code == "attempts_exhausted"


def test_what_was_never_sent_is_given_back() -> None:
    before = owed(submit(), refuse())

    _, delivery = when(owed(submit(), refuse(), submit(2)), Withdraw("lease_too_short"))

    assert (delivery.stage, delivery.purchases) == (Stage.PENDING, before.purchases)
    assert (delivery.key, delivery.decision) == (before.key, before.decision)
    assert delivery.senders == ()


def test_a_repetition_that_was_never_sent_leaves_the_first_request_unknown() -> None:
    repeat = submit(2, repeat_until=None)
    unknown = owed(submit(repeat_until=after(60)), LOST)

    _, delivery = when(
        owed(submit(repeat_until=after(60)), LOST, repeat), Withdraw("shutdown")
    )

    assert (delivery.stage, delivery.standing) == (Stage.SUBMITTED, Standing.UNKNOWN)
    assert (delivery.key, delivery.purchases) == (f"{KEY}1", 1)
    assert delivery.senders == unknown.senders
    assert delivery.repeat_until == after(60)


def test_who_says_too_late_that_he_never_asked_is_not_waited_for() -> None:
    events, delivery = when(owed(submit(), LOST, REVIEW), Withdraw("shutdown"))

    assert told(events) == ["sender_ended"]
    assert (delivery.stage, delivery.senders) == (Stage.NEEDS_REVIEW, ())


def test_the_same_key_is_sent_again_only_inside_the_promise() -> None:
    unknown = owed(submit(repeat_until=after(60)), TIMEOUT)

    events, delivery = when(unknown, submit(2, at=after(59)))

    assert told(events) == ["purchase_submitted"]
    assert (delivery.key, delivery.purchases, delivery.decision) == (f"{KEY}1", 2, 1)
    for delivery, at in (
        (unknown, after(60)),
        (owed(submit(), TIMEOUT), AT),
        (owed(submit(repeat_until=after(60))), AT),
    ):
        with pytest.raises(IllegalTransitionError):
            when(delivery, submit(2, at=at))


def test_a_refused_repetition_says_nothing_of_the_first_request() -> None:
    repeated = owed(submit(repeat_until=after(60)), LOST, submit(2))

    events, delivery = when(repeated, refuse("permanent", "http_403"))

    assert told(events) == ["purchase_unknown"]
    assert [each.sender.pid for each in delivery.senders] == [1]


def test_an_accepted_purchase_keeps_its_reference_and_is_looked_at_later() -> None:
    """Requirements 9.7, 5."""
    events, delivery = when(owed(submit()), accept())

    assert told(events) == ["purchase_accepted", "sender_ended"]
    assert (delivery.standing, delivery.reference) == (Standing.ACCEPTED, "R-1")
    assert (delivery.next_at, delivery.senders) == (after(1), ())
    assert when(delivery, accept())[0] == ()
    assert told(when(delivery, refuse("permanent", "sold_out"))[0]) == [
        "purchase_refused",
        "failed",
        "refunded",
    ]


def test_a_callback_before_the_answer_decides_and_the_answer_is_no_news() -> None:
    delivered = owed(submit(), CONFIRM)

    for late in (CONFIRM, accept(), refuse(), TIMEOUT, LOST, Withdraw("shutdown")):
        assert when(delivered, late)[0] == ()


def test_a_refusal_by_callback_waits_for_the_answer_of_who_has_asked() -> None:
    asked = owed(submit())

    events, delivery = when(asked, refuse("permanent", "sold_out", is_answer=False))

    assert told(events) == ["reconciled"]
    assert delivery.standing is Standing.ASKED
    answered, ended = when(delivery, refuse("permanent", "sold_out"))
    assert told(answered) == ["purchase_refused", "failed", "refunded"]
    assert ended.refunded_minor == 190


def test_an_unknown_is_recorded_once() -> None:
    unknown = owed(submit(), LOST)

    assert when(unknown, LOST)[0] == ()
    assert told(when(unknown, TIMEOUT)[0]) == ["sender_ended"]
    assert when(owed(), LOST)[0] == ()


@pytest.mark.parametrize(
    ("commands", "tags"),
    [
        ((), ["failed"]),
        ((submit(), refuse()), ["review_opened"]),
        ((submit(),), ["purchase_unknown", "review_opened"]),
        ((submit(), accept()), ["review_opened"]),
        ((submit(), TIMEOUT, REVIEW), []),
        ((submit(), CONFIRM), []),
        ((submit(), Withdraw("shutdown")), ["failed"]),
    ],
)
def test_when_its_job_is_dead_nothing_follows_from_what_was_asked(
    commands: tuple[GoodsCommand, ...], tags: list[str]
) -> None:
    assert told(when(owed(*commands), DEAD)[0]) == tags


def test_a_failed_delivery_is_retried_or_refunded_once() -> None:
    failed = owed(DEAD)

    assert when(failed, Retry())[1].stage is Stage.PENDING
    refund, refunded = when(failed, Refund("operator"))
    assert told(refund) == ["refunded"]
    assert when(refunded, Refund("operator"))[0] == ()


@pytest.mark.parametrize(
    ("commands", "is_possible"),
    [
        ((), True),
        ((submit(), refuse()), True),
        ((DEAD,), True),
        ((submit(),), False),
        ((submit(), TIMEOUT), False),
        ((submit(), TIMEOUT, REVIEW), False),
        ((submit(), TIMEOUT, REVIEW, says("buy_again")), False),
        ((RESTORE,), False),
        ((submit(), CONFIRM), False),
    ],
)
def test_what_may_have_been_bought_is_not_cancelled(
    commands: tuple[GoodsCommand, ...], *, is_possible: bool
) -> None:
    delivery = owed(*commands)
    cancel = Cancel(code="operator", refunds=True)

    if not is_possible:
        with pytest.raises(IllegalTransitionError):
            when(delivery, cancel)
        return
    events, ended = when(delivery, cancel)
    assert told(events) == ["cancelled", "refunded"]
    assert ended.refunded_minor == 190


def test_a_cancelled_delivery_whose_money_the_shop_gave_back_owes_nothing() -> None:
    cancel = Cancel(code="order_refunded", refunds=False)

    events, delivery = when(owed(), cancel)

    assert told(events) == ["cancelled"]
    assert (delivery.stage, delivery.refunded_minor) == (Stage.CANCELLED, None)
    assert when(delivery, cancel)[0] == ()


def test_a_pause_is_recorded_once_for_each_reason() -> None:
    pause = Defer(code="provider_unconfigured", until=after(1))

    events, delivery = when(owed(), pause)

    assert told(events) == ["deferred"]
    assert when(delivery, pause)[0] == ()
    assert told(when(delivery, Defer(code="quarantined", until=after(2)))[0])


def test_only_what_is_owed_can_be_bought_and_nothing_is_owed_twice() -> None:
    with pytest.raises(IllegalTransitionError):
        when(owed(), OWE)
    for command in (submit(), TIMEOUT, accept(), refuse(), CONFIRM, RESTORE, DEAD):
        with pytest.raises(IllegalTransitionError):
            when(GoodsDelivery(), command)


def test_the_money_is_not_given_back_for_what_was_bought_meanwhile() -> None:
    """A confirmation of what is refunded is refused, so that somebody hears of it."""
    refunded = owed(submit(), TIMEOUT, REVIEW, says("not_purchased"))

    for late in (CONFIRM, found("delivered")):
        with pytest.raises(IllegalTransitionError):
            when(refunded, late)


@pytest.mark.parametrize(
    ("commands", "stage"),
    [
        ((), Stage.SUBMITTED),
        ((submit(), refuse()), Stage.SUBMITTED),
        ((submit(),), Stage.SUBMITTED),
        ((DEAD,), Stage.SUBMITTED),
        ((submit(), TIMEOUT, REVIEW), Stage.NEEDS_REVIEW),
    ],
)
def test_after_a_restore_nothing_open_is_known(
    commands: tuple[GoodsCommand, ...], stage: Stage
) -> None:
    events, delivery = when(owed(*commands), RESTORE)

    assert told(events) == ["purchase_unknown"]
    assert (delivery.stage, delivery.standing) == (stage, Standing.UNKNOWN)
    assert when(delivery, RESTORE)[0] == ()
    assert told(when(delivery, Restore(after(1)))[0]) == ["purchase_unknown"]
    with pytest.raises(IllegalTransitionError):
        when(delivery, submit(2))


def test_a_refusal_that_comes_after_a_restore_ends_nothing() -> None:
    events, delivery = when(owed(submit(), RESTORE), refuse())

    assert told(events) == ["reconciled", "sender_ended"]
    assert (delivery.stage, delivery.is_restored) == (Stage.SUBMITTED, True)


def test_a_purchase_that_a_restore_lost_is_found_under_a_later_key() -> None:
    lost = owed(submit(), refuse(), RESTORE)

    events, delivery = when(lost, found("delivered", decision=3))
    _, accepted = when(lost, found("accepted", decision=3, reference="R-3"))
    _, refused = when(lost, found("refused", decision=3, is_conclusive=True))

    assert told(events) == ["reconciled", "delivered"]
    assert delivery.decision == 3
    assert (accepted.key, accepted.standing) == (f"{KEY}3", Standing.ACCEPTED)
    assert (refused.stage, refused.decision, refused.purchases) == (Stage.PENDING, 3, 3)
    assert not refused.is_restored
    assert when(refused, submit(9))[1].key == f"{KEY}4"


def test_what_nobody_could_have_asked_for_is_not_believed() -> None:
    with pytest.raises(IllegalTransitionError):
        when(owed(submit()), Confirm(decision=2, reference=None))


def test_who_is_proved_dead_is_not_waited_for_in_any_of_his_submissions() -> None:
    twice = owed(submit(1, repeat_until=after(60)), LOST, submit(1), LOST)

    events, delivery = when(
        twice, EndSender(sender=sender(1), how="process_gone", at=AT)
    )

    assert told(events) == ["sender_ended"]
    assert delivery.senders == ()
    assert (
        when(delivery, EndSender(sender=sender(1), how="process_gone", at=AT))[0] == ()
    )


def test_a_dead_job_after_a_doubtful_purchase_is_not_called_failed() -> None:
    doubtful = owed(RESTORE, REVIEW, says("buy_again"))

    events, _ = when(doubtful, Fail("budget_spent"))

    assert told(events) == ["review_opened"]
