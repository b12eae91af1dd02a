"""What a person decides about a purchase whose end nobody knows."""

import pytest

from domain.errors import IllegalTransitionError, InvalidRequestError
from domain.event import Actor
from domain.goods.commands import (
    Confirm,
    Decide,
    EndSender,
    GoodsCommand,
    Restore,
)
from domain.goods.errors import BarredError, SecondPersonError
from domain.goods.events import ReviewDecided
from domain.goods.state import Stage, Standing
from tests.domain.goods.deliveries import (
    AT,
    CONFIRM,
    IVAN,
    LOST,
    OLGA,
    REVIEW,
    TIMEOUT,
    accept,
    found,
    owed,
    refuse,
    says,
    sender,
    submit,
    told,
    when,
)

QUIET = (submit(), TIMEOUT, REVIEW)
"""Its sender has said himself that his call is over."""

FROZEN = (submit(), LOST, REVIEW)
"""Its sender may still ask."""

GONE = EndSender(sender=sender(), how="process_gone", at=AT)


@pytest.mark.parametrize(
    ("verdict", "tags", "stage"),
    [
        ("delivered", ["review_decided", "delivered"], Stage.DELIVERED),
        ("not_purchased", ["review_decided", "refunded"], Stage.REFUNDED),
        ("buy_again", ["review_decided"], Stage.PENDING),
    ],
)
def test_a_person_says_what_became_of_it(
    verdict: str, tags: list[str], stage: Stage
) -> None:
    events, delivery = when(owed(*QUIET), says(verdict))

    assert told(events) == tags
    assert delivery.stage is stage
    assert delivery.refunded_minor == (190 if stage is Stage.REFUNDED else None)


@pytest.mark.parametrize("verdict", ["not_purchased", "buy_again"])
def test_while_the_sender_may_still_ask_the_money_is_neither_given_back_nor_spent(
    verdict: str,
) -> None:
    frozen = owed(*FROZEN)

    with pytest.raises(BarredError):
        when(frozen, says(verdict))

    (decided, *_), _ = when(frozen, says(verdict, is_override=True))
    assert isinstance(decided, ReviewDecided)
    assert decided.is_override
    (free, *_), _ = when(owed(*FROZEN, GONE), says(verdict, is_override=True))
    assert isinstance(free, ReviewDecided)
    assert not free.is_override
    assert told(when(frozen, says("delivered"))[0]) == ["review_decided", "delivered"]


def test_an_overridden_sender_bars_the_next_review_as_well() -> None:
    again = owed(*FROZEN, says("buy_again", is_override=True), submit(2), TIMEOUT)
    _, review = when(again, REVIEW)

    assert [each.decision for each in review.senders] == [1]
    with pytest.raises(BarredError):
        when(review, says("not_purchased"))
    assert when(when(review, GONE)[1], says("not_purchased"))[1].refunded_minor == 190


def test_after_a_doubtful_purchase_no_money_goes_back_by_itself() -> None:
    again = owed(*QUIET, says("buy_again"), submit(2))

    events, delivery = when(again, refuse("permanent", "sold_out", decision=2))

    assert told(events) == ["purchase_refused", "review_opened"]
    assert delivery.stage is Stage.NEEDS_REVIEW


def test_buying_again_what_was_surely_refused_leaves_no_doubt() -> None:
    certain = owed(submit(), refuse(), REVIEW, says("buy_again"), submit(2))

    events, _ = when(certain, refuse("permanent", "sold_out", decision=2))

    assert told(events) == ["purchase_refused", "failed", "refunded"]


def test_four_eyes_two_people_buy_again_and_one_does_not() -> None:
    review = owed(*QUIET)
    olga = says("buy_again", OLGA, needs_second=True)
    ivan = says("buy_again", IVAN, needs_second=True)

    proposed, waiting = when(review, olga)
    decided, delivery = when(waiting, ivan)

    assert told(proposed) == ["decision_proposed"]
    assert waiting.stage is Stage.NEEDS_REVIEW
    with pytest.raises(SecondPersonError):
        when(waiting, olga)
    (event,) = decided
    assert isinstance(event, ReviewDecided)
    assert event.proposed_by == OLGA
    assert (delivery.stage, delivery.proposal) == (Stage.PENDING, None)


def test_four_eyes_agreeing_to_more_than_was_proposed_is_a_new_proposal() -> None:
    """What Olga proposed was barred by nobody; an override is another matter."""
    proposed = owed(*QUIET, says("buy_again", OLGA, needs_second=True))
    barred = owed(*FROZEN, says("buy_again", OLGA, is_override=True, needs_second=True))
    _, freed = when(barred, GONE)

    events, delivery = when(freed, says("buy_again", IVAN, needs_second=True))

    assert proposed.proposal is not None
    assert told(events) == ["decision_proposed"]
    assert delivery.proposal is not None
    assert delivery.proposal.by == IVAN


@pytest.mark.parametrize(
    "news",
    [accept(), found("accepted"), Restore(AT)],
    ids=["told", "found", "restored"],
)
def test_a_proposal_does_not_outlive_what_speaks_against_it(
    news: GoodsCommand,
) -> None:
    """Whoever agrees to buy again has to agree with somebody who knew that."""
    proposed = owed(*QUIET, says("buy_again", OLGA, needs_second=True))

    informed = when(proposed, news)[1]
    events, delivery = when(informed, says("buy_again", IVAN, needs_second=True))

    assert informed.proposal is None
    assert told(events) == ["decision_proposed"]
    assert delivery.stage is Stage.NEEDS_REVIEW


def test_a_proposal_outlives_what_speaks_for_it() -> None:
    proposed = owed(*QUIET, says("buy_again", OLGA, needs_second=True))

    informed = when(proposed, found("absent"))[1]
    delivery = when(informed, says("buy_again", IVAN, needs_second=True))[1]

    assert delivery.stage is Stage.PENDING


def test_a_proposal_to_buy_again_has_no_part_in_another_verdict() -> None:
    proposed = owed(*QUIET, says("buy_again", OLGA, needs_second=True))

    (decided, _), delivery = when(
        proposed, says("not_purchased", IVAN, needs_second=True)
    )

    assert isinstance(decided, ReviewDecided)
    assert decided.proposed_by is None
    assert delivery.proposal is None


def test_two_operators_of_one_name_but_another_kind_are_two() -> None:
    proposed = owed(*QUIET, says("buy_again", OLGA, needs_second=True))
    shop = Actor("shop", "olga")

    assert told(when(proposed, says("buy_again", shop, needs_second=True))[0]) == [
        "review_decided"
    ]


@pytest.mark.parametrize(
    ("verdict", "evidence", "path"),
    [("bought", "a statement", "verdict"), ("delivered", "  ", "evidence")],
)
def test_a_verdict_makes_sense_and_has_evidence(
    verdict: str, evidence: str, path: str
) -> None:
    decide = Decide(
        verdict=verdict,
        evidence=evidence,
        by=OLGA,
        is_override=False,
        needs_second=False,
    )

    with pytest.raises(InvalidRequestError) as error:
        when(owed(*QUIET), decide)

    assert error.value.path == path


@pytest.mark.parametrize("commands", [(), (submit(),), (submit(), CONFIRM)])
def test_nobody_decides_what_is_not_in_review(
    commands: tuple[GoodsCommand, ...],
) -> None:
    with pytest.raises(IllegalTransitionError):
        when(owed(*commands), says("delivered"))


@pytest.mark.parametrize("late", [CONFIRM, found("delivered", reference="R-1")])
def test_a_late_confirmation_ends_a_review(late: GoodsCommand) -> None:
    _, delivery = when(owed(*FROZEN), late)

    assert (delivery.stage, delivery.reference) == (Stage.DELIVERED, "R-1")


@pytest.mark.parametrize(
    ("late", "tags"),
    [
        (accept("R-1"), ["reconciled", "sender_ended"]),
        (refuse("permanent", "sold_out"), ["reconciled", "sender_ended"]),
        (TIMEOUT, ["sender_ended"]),
        (LOST, []),
        (found("absent", is_conclusive=True), ["reconciled"]),
        (found("refused", code="sold_out", is_conclusive=True), ["reconciled"]),
        (found("unclear", code="http_500"), ["reconciled"]),
    ],
)
def test_everything_else_that_comes_late_is_evidence(
    late: GoodsCommand, tags: list[str]
) -> None:
    events, delivery = when(owed(*FROZEN), late)

    assert told(events) == tags
    assert delivery.stage is Stage.NEEDS_REVIEW


def test_what_a_person_has_bought_again_is_delivered_by_the_first_purchase() -> None:
    _, delivery = when(owed(*QUIET, says("buy_again")), CONFIRM)

    assert delivery.stage is Stage.DELIVERED


def test_an_earlier_purchase_that_is_confirmed_beside_a_later_one_is_for_a_person() -> (
    None
):
    both = owed(*QUIET, says("buy_again"), submit(2))

    events, delivery = when(both, CONFIRM)

    assert told(events) == ["purchase_confirmed", "purchase_unknown", "review_opened"]
    assert (delivery.code, delivery.standing) == ("confirmed_before", Standing.UNKNOWN)
    assert when(delivery, CONFIRM)[0] == ()
    assert told(when(delivery, Confirm(decision=2, reference=None))[0]) == [
        "purchase_confirmed",
        "delivered",
    ]


@pytest.mark.parametrize(
    ("commands", "what", "stage"),
    [
        ((submit(), TIMEOUT), "absent", Stage.PENDING),
        ((submit(), TIMEOUT), "refused", Stage.PENDING),
        ((submit(), accept()), "refused", Stage.PENDING),
        ((submit(), accept(is_answer=False)), "refused", Stage.SUBMITTED),
        ((submit(), accept()), "absent", Stage.SUBMITTED),
        ((submit(),), "absent", Stage.SUBMITTED),
        ((submit(),), "refused", Stage.SUBMITTED),
    ],
)
def test_only_what_is_unknown_is_reconciled_away(
    commands: tuple[GoodsCommand, ...], what: str, stage: Stage
) -> None:
    events, delivery = when(owed(*commands), found(what, is_conclusive=True))

    assert told(events)[0] == "reconciled"
    assert delivery.stage is stage


def test_what_was_accepted_and_then_failed_is_over_without_a_proof() -> None:
    """The provider had it: it need not be proved that it never comes."""
    failed = found("refused", code="purchase_failed", failure_class="permanent")

    events, _ = when(owed(submit(), accept()), failed)

    assert told(events) == ["reconciled", "purchase_refused", "failed", "refunded"]
    assert told(when(owed(submit(), TIMEOUT), failed)[0]) == ["reconciled"]


def test_an_absence_that_proves_nothing_is_told_once() -> None:
    unknown = owed(submit(), LOST)

    events, delivery = when(unknown, found("absent"))

    assert told(events) == ["reconciled"]
    assert delivery.standing is Standing.UNKNOWN
    assert when(delivery, found("absent"))[0] == ()


def test_what_is_refused_for_good_when_looked_up_is_refunded() -> None:
    refused = found(
        "refused", code="sold_out", is_conclusive=True, failure_class="permanent"
    )

    events, _ = when(owed(submit(), TIMEOUT), refused)

    assert told(events) == ["reconciled", "purchase_refused", "failed", "refunded"]
