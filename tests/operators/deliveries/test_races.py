"""Two who act on one delivery at once: both wait for its row, and one of them loses.

PostgreSQL serves them in the order in which they came; see `tests.operators.stage`.
"""

import pytest

from application.errors import ReviewDecidedError, StateConflictError
from application.operators.action import Done
from application.operators.deliveries.decide import Decided
from application.operators.deliveries.reconcile import Asked
from domain.errors import IllegalTransitionError
from domain.goods.commands import Confirm
from tests.operators.deliveries.goods import Shop
from tests.operators.stage import Act, Stage, outcome

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("delivered", "not_purchased"),
        ("not_purchased", "delivered"),
        ("not_purchased", "not_purchased"),
        ("buy_again", "not_purchased"),
    ],
)
def test_of_two_operators_one_wins_and_the_other_is_told_who_and_when(
    shop: Shop, stage: Stage, first: str, second: str
) -> None:
    delivery = shop.review()

    won, lost = stage.meet(
        "deliveries",
        delivery,
        lambda: shop.decide(delivery, first, by="ann"),
        lambda: shop.decide(delivery, second, by="bob"),
    )

    assert isinstance(won, Decided)
    assert isinstance(lost, ReviewDecidedError), lost
    assert (lost.by, lost.verdict, lost.state) == ("ann", first, won.state)
    ((at,),) = shop.world.connection.execute(
        "SELECT recorded_at FROM counterfoil.events WHERE type = 'goods.review_decided'"
    ).fetchall()
    assert lost.at == at
    assert f"by ann at {at:%Y-%m-%d %H:%M:%S}Z" in str(lost)
    assert [row[2:5:2] for row in shop.world.refusals()] == [("review_decided", "bob")]
    assert len(shop.jobs(delivery)) == 1


def test_one_person_who_says_it_twice_at_once_has_said_it_once(
    shop: Shop, stage: Stage
) -> None:
    delivery = shop.review()

    answers = stage.meet(
        "deliveries",
        delivery,
        *(lambda: shop.decide(delivery, "not_purchased") for _ in range(2)),
    )

    assert [bool(each.events) for each in answers if isinstance(each, Decided)] == [
        True,
        False,
    ]
    assert shop.world.tags(delivery).count("goods.refunded") == 1
    assert shop.world.refusals() == []


@pytest.mark.parametrize("is_person_first", [True, False])
def test_a_person_and_a_late_answer_leave_one_truth(
    shop: Shop, stage: Stage, *, is_person_first: bool
) -> None:
    """I6: refunded or delivered, never both."""
    delivery = shop.review()

    def confirmed() -> object:
        try:
            shop.tell(delivery, Confirm(decision=1, reference="T-1"))
        except IllegalTransitionError as error:
            return error
        return None

    acts: list[Act] = [lambda: shop.decide(delivery, "not_purchased"), confirmed]

    answers = stage.meet("deliveries", delivery, *acts[:: 1 if is_person_first else -1])

    if is_person_first:
        assert isinstance(answers[0], Decided)
        assert isinstance(answers[1], IllegalTransitionError)
        assert shop.state(delivery).stage == "refunded"
    else:
        assert isinstance(answers[1], StateConflictError)
        assert answers[1].state == "delivered"
        assert shop.state(delivery).stage == "delivered"


def test_two_who_have_a_provider_asked_at_once_have_it_asked_once(
    shop: Shop, stage: Stage
) -> None:
    delivery = shop.review()

    answers = stage.meet(
        "deliveries",
        delivery,
        lambda: shop.reconcile(delivery, by="ann"),
        lambda: shop.reconcile(delivery, by="bob"),
    )

    asked = [each for each in answers if isinstance(each, Asked)]
    assert [each.replayed for each in asked] == [False, True]
    assert len({each.job_id for each in asked}) == 1
    assert shop.jobs(delivery) == ["goods_reconcile"]


def test_a_submission_that_comes_before_a_cancel_is_not_cancelled(
    shop: Shop, stage: Stage
) -> None:
    """The cancel is decided under the lock that the submission held."""
    delivery = shop.owe()

    with stage.holding("deliveries", delivery):
        submitted = stage.wait(lambda: shop.submit(delivery), 1)
        cancel = stage.wait(lambda: shop.world.cancel(delivery), 2)

    assert outcome(submitted) is None
    refused = outcome(cancel)
    assert isinstance(refused, StateConflictError)
    assert refused.state == "submitted"
    assert "reconcile" in refused.remedy


def test_two_who_cancel_at_once_refund_once(shop: Shop, stage: Stage) -> None:
    delivery = shop.owe()

    answers = stage.meet(
        "deliveries",
        delivery,
        lambda: shop.world.cancel(delivery),
        lambda: shop.world.cancel(delivery),
    )

    assert [bool(each.events) for each in answers if isinstance(each, Done)] == [
        True,
        False,
    ]
    assert len(shop.messages("goods.refunded")) == 1


def test_a_job_from_before_the_review_buys_again_by_itself(shop: Shop) -> None:
    """One job at a time; and one that runs may have seen the review already."""
    runs = shop.owe()
    shop.world.claim("goods_delivery")
    waits = shop.owe()
    for delivery in (waits, runs):
        shop.submit(delivery)
        shop.lose(delivery)

    assert shop.decide(waits, "buy_again").state == "pending"
    assert shop.jobs(waits) == ["goods_delivery"]
    with pytest.raises(StateConflictError, match="ask again"):
        shop.decide(runs, "buy_again")
    assert shop.decide(runs, "delivered").state == "delivered"
