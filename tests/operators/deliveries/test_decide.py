"""A person says what became of a purchase: once, with evidence, on record."""

from uuid import UUID

import pytest

from application.errors import (
    DecisionRefusedError,
    NotFoundError,
    ReviewDecidedError,
    StateConflictError,
)
from domain.errors import InvalidRequestError
from domain.goods.commands import Confirm
from domain.goods.state import Stage
from tests.operators.deliveries.goods import Shop

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def told(shop: Shop, delivery: UUID) -> list[str]:
    return [tag.removeprefix("goods.") for tag in shop.world.tags(delivery)]


def test_what_was_delivered_is_final_and_its_order_is_looked_at(shop: Shop) -> None:
    delivery = shop.review()

    decided = shop.decide(delivery, "delivered")

    assert decided.state == "delivered"
    assert decided.events == (
        "goods.review_decided",
        "goods.delivered",
        "job.enqueued",
    )
    assert shop.jobs(delivery) == ["order_completion"]
    assert [each["delivery_id"] for each in shop.messages("goods.delivered")] == [
        str(delivery)
    ]
    assert shop.world.refusals() == []


def test_what_was_not_purchased_gives_back_what_was_paid_once(shop: Shop) -> None:
    """Discounts and quantity are in `paid_minor`: 2 pieces of 100, for 190."""
    delivery = shop.review()

    decided = shop.decide(delivery, "not_purchased")
    again = shop.decide(delivery, "not_purchased")

    assert decided.state == again.state == "refunded"
    assert again.events == ()
    assert again.position >= decided.position - 1
    (message,) = shop.messages("goods.refunded")
    assert (message["refunded_minor"], message["currency"]) == (190, "EUR")
    assert told(shop, delivery).count("refunded") == 1


def test_buying_again_is_another_decision_with_a_job_of_its_own(shop: Shop) -> None:
    delivery = shop.review()

    decided = shop.decide(delivery, "buy_again")

    assert decided.state == "pending"
    assert decided.job_id is not None
    assert shop.jobs(delivery) == ["goods_delivery"]
    shop.submit(delivery)
    assert shop.state(delivery).decision == 2
    assert shop.state(delivery).key == shop.state(delivery).key
    assert str(shop.state(delivery).key).endswith(":1:2")


def test_who_why_and_what_shows_it_stay_in_the_log(shop: Shop) -> None:
    delivery = shop.review()

    shop.decide(delivery, "delivered", "receipt 9", by="bob", reason="called him")

    rows = shop.world.connection.execute(
        """
        SELECT data->>'evidence', meta->'actor'->>'type', meta->'actor'->>'id',
               meta->>'reason', meta->>'correlation_id'
          FROM counterfoil.events
         WHERE stream_id = %s AND type IN ('goods.review_decided', 'goods.delivered')
        """,
        (delivery,),
    ).fetchall()
    assert rows == [
        ("receipt 9", "operator", "bob", "called him", "order:A"),
        (None, "operator", "bob", "called him", "order:A"),
    ]


@pytest.mark.parametrize("verdict", ["not_purchased", "buy_again"])
def test_both_are_barred_while_a_sender_may_still_be_about_to_ask(
    shop: Shop, verdict: str
) -> None:
    """Mechanisms 27; the refusal names the process, and says what can be done."""
    delivery = shop.review(is_sender_gone=False)
    before = shop.state(delivery)

    with pytest.raises(DecisionRefusedError, match=r"worker-1:4711.*override") as it:
        shop.decide(delivery, verdict)

    assert it.value.code == "sender_not_gone"
    assert shop.state(delivery) == before
    assert [row[:3] for row in shop.world.refusals()] == [
        ("decide_delivery", str(delivery), "sender_not_gone")
    ]

    shop.tell(delivery, shop.sender_ended())
    assert shop.decide(delivery, verdict).events


def test_what_was_delivered_is_never_barred(shop: Shop) -> None:
    delivery = shop.review(is_sender_gone=False)

    assert shop.decide(delivery, "delivered").state == "delivered"


@pytest.mark.parametrize("verdict", ["not_purchased", "buy_again"])
def test_an_owner_takes_it_on_himself_and_that_is_recorded(
    shop: Shop, verdict: str
) -> None:
    delivery = shop.review(is_sender_gone=False)

    shop.decide(delivery, verdict, is_override=True)

    ((override,),) = shop.world.connection.execute(
        """
        SELECT data->>'is_override' FROM counterfoil.events
         WHERE stream_id = %s AND type = 'goods.review_decided'
        """,
        (delivery,),
    ).fetchall()
    assert override == "true"


def test_a_seventh_purchase_is_refused(shop: Shop) -> None:
    delivery = shop.review()
    for number in range(2, 7):
        shop.decide(delivery, "buy_again", f"ledger lacks key {number - 1}")
        shop.send_to_review(delivery)
    assert shop.state(delivery).purchases == 6

    with pytest.raises(DecisionRefusedError) as refused:
        shop.decide(delivery, "buy_again", "ledger lacks key 6")

    assert refused.value.code == "purchases_spent"
    assert shop.decide(delivery, "not_purchased").state == "refunded"


def test_the_same_word_again_buys_nothing_once_more(shop: Shop) -> None:
    """A command that is repeated because its answer was lost decides one review."""
    delivery = shop.review()
    shop.decide(delivery, "buy_again", "ledger lacks key 1")
    shop.send_to_review(delivery)

    again = shop.decide(delivery, "buy_again", " ledger lacks key 1 ")

    assert again.events == ()
    assert shop.state(delivery).stage is Stage.NEEDS_REVIEW
    assert shop.decide(delivery, "buy_again", "ledger lacks key 2").state == "pending"


def test_another_persons_same_word_is_a_conflict(shop: Shop) -> None:
    delivery = shop.review()
    shop.decide(delivery, "delivered", by="ann")

    with pytest.raises(ReviewDecidedError) as refused:
        shop.decide(delivery, "delivered", by="bob")

    assert (refused.value.by, refused.value.verdict) == ("ann", "delivered")
    assert "by ann at 2" in str(refused.value)
    assert [row[2:5:2] for row in shop.world.refusals()] == [("review_decided", "bob")]


def test_a_version_that_is_old_is_refused_with_the_present_one(shop: Shop) -> None:
    delivery = shop.review(is_sender_gone=False)
    looked_at = shop.state(delivery).version
    shop.tell(delivery, shop.sender_ended())

    with pytest.raises(DecisionRefusedError) as refused:
        shop.decide(delivery, "buy_again", versions=frozenset({looked_at}))

    assert refused.value.code == "version_changed"
    assert f"at version {looked_at + 1}" in str(refused.value)
    present = frozenset({looked_at + 1})
    assert shop.decide(delivery, "buy_again", versions=present).events


def test_what_is_not_in_review_is_refused_with_what_to_do(shop: Shop) -> None:
    owed = shop.owe()
    delivered = shop.review()
    shop.tell(delivered, Confirm(decision=1, reference="T-1"))

    with pytest.raises(StateConflictError, match="goes on by itself"):
        shop.decide(owed, "delivered")
    with pytest.raises(StateConflictError, match="that is final") as refused:
        shop.decide(delivered, "not_purchased")

    assert refused.value.state == "delivered"


@pytest.mark.parametrize(
    ("verdict", "evidence", "code"),
    [
        ("refund", "receipt", "unknown_verdict"),
        ("delivered", " \n ", "evidence_required"),
        ("delivered", "x" * 2001, "evidence_required"),
    ],
)
def test_a_word_without_sense_or_evidence_is_refused_and_on_record(
    shop: Shop, verdict: str, evidence: str, code: str
) -> None:
    delivery = shop.review()

    with pytest.raises(InvalidRequestError) as refused:
        shop.decide(delivery, verdict, evidence)

    assert refused.value.code == code
    assert [row[2] for row in shop.world.refusals()] == [code]


@pytest.mark.parametrize("key", ["A-1", "01a229c8-15d6-7b9a-a414-da3f4ad17f77", ""])
def test_nothing_has_that_id(shop: Shop, key: str) -> None:
    with pytest.raises(NotFoundError):
        shop.decide(key, "delivered")

    assert [row[:3] for row in shop.world.refusals()] == [
        ("decide_delivery", key, "not_found")
    ]
