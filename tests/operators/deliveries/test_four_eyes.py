"""Buying again needs two people where the installation says so; nothing else does."""

import pytest

from application.errors import DecisionRefusedError
from domain.goods.state import Stage
from tests.operators.deliveries.goods import Shop

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.fixture
def careful(shop: Shop) -> Shop:
    shop.four_eyes = True
    return shop


def test_one_proposes_and_another_one_agrees(careful: Shop) -> None:
    delivery = careful.review()

    proposed = careful.decide(delivery, "buy_again", by="ann")
    agreed = careful.decide(delivery, "buy_again", "I looked too", by="bob")

    assert (proposed.state, proposed.proposed_by) == ("needs_review", "ann")
    assert proposed.events == ("goods.decision_proposed",)
    assert (agreed.state, agreed.proposed_by) == ("pending", None)
    assert careful.jobs(delivery) == ["goods_delivery"]
    ((by, proposer),) = careful.world.connection.execute(
        """
        SELECT meta->'actor'->>'id', data->'proposed_by'->>'id'
          FROM counterfoil.events WHERE type = 'goods.review_decided'
        """
    ).fetchall()
    assert (by, proposer) == ("bob", "ann")


def test_the_same_person_cannot_agree_to_his_own_wish(careful: Shop) -> None:
    delivery = careful.review()
    careful.decide(delivery, "buy_again", by="ann")

    with pytest.raises(DecisionRefusedError, match="proposed by ann at 2") as refused:
        careful.decide(delivery, "buy_again", "I looked once more", by="ann")

    assert refused.value.code == "second_person_required"
    assert careful.state(delivery).stage is Stage.NEEDS_REVIEW
    assert [row[2] for row in careful.world.refusals()] == ["second_person_required"]


def test_a_proposal_that_is_repeated_stays_one(careful: Shop) -> None:
    delivery = careful.review()
    careful.decide(delivery, "buy_again", by="ann")

    again = careful.decide(delivery, "buy_again", by="ann")

    assert (again.events, again.proposed_by) == ((), "ann")
    assert careful.world.refusals() == []


@pytest.mark.parametrize("verdict", ["delivered", "not_purchased"])
def test_any_other_verdict_needs_one_person_and_ends_a_proposal(
    careful: Shop, verdict: str
) -> None:
    delivery = careful.review()
    careful.decide(delivery, "buy_again", by="ann")

    decided = careful.decide(delivery, verdict, by="ann")

    assert decided.state in {"delivered", "refunded"}
    assert careful.state(delivery).proposal is None


def test_who_agrees_takes_the_override_on_himself_too(careful: Shop) -> None:
    delivery = careful.review(is_sender_gone=False)
    careful.decide(delivery, "buy_again", by="ann", is_override=True)

    with pytest.raises(DecisionRefusedError) as refused:
        careful.decide(delivery, "buy_again", "I looked too", by="bob")

    assert refused.value.code == "sender_not_gone"
    agreed = careful.decide(
        delivery, "buy_again", "I looked too", by="bob", is_override=True
    )
    assert agreed.state == "pending"
