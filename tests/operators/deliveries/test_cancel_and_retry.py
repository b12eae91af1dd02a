"""Cancel and retry of goods: by the delivery's id or its job's, one use case (25)."""

from uuid import UUID

import pytest

from application.errors import StateConflictError
from domain.goods.commands import Confirm
from domain.jobs.outcome import Fail
from tests.operators.deliveries.goods import Shop

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def job_of(shop: Shop, delivery: UUID) -> UUID:
    ((job,),) = shop.world.connection.execute(
        """
        SELECT stream_id FROM counterfoil.jobs WHERE unique_key = %(key)s
         UNION ALL
        SELECT stream_id FROM counterfoil.jobs_dead WHERE unique_key = %(key)s
        """,
        {"key": f"goods_delivery:{delivery}"},
    ).fetchall()
    assert isinstance(job, UUID)
    return job


def failed(shop: Shop) -> UUID:
    """Return a delivery whose job died before anything was submitted."""
    delivery = shop.owe()
    shop.world.end(shop.world.claim("goods_delivery"), Fail(code="permanent"))
    assert shop.state(delivery).stage == "failed"
    return delivery


def key_of(shop: Shop, delivery: UUID, by: str) -> UUID:
    return delivery if by == "delivery" else job_of(shop, delivery)


@pytest.mark.parametrize("by", ["delivery", "job"])
def test_what_was_never_submitted_is_cancelled_and_refunded_once(
    shop: Shop, by: str
) -> None:
    delivery = shop.owe()
    key = key_of(shop, delivery, by)

    done = shop.world.cancel(key)
    again = shop.world.cancel(key)

    assert done.events == ("job.cancelled", "goods.cancelled", "goods.refunded")
    assert (done.delivery_id, done.operation_id) == (delivery, None)
    assert again.events == ()
    assert shop.state(delivery).stage == "refunded"
    (message,) = shop.messages("goods.refunded")
    assert message["refunded_minor"] == 190
    # What is left of the order is looked at.
    assert shop.jobs(delivery) == ["order_completion"]


@pytest.mark.parametrize("by", ["delivery", "job"])
def test_what_has_failed_is_cancelled_and_refunded_once(shop: Shop, by: str) -> None:
    delivery = failed(shop)

    done = shop.world.cancel(key_of(shop, delivery, by))

    assert done.events == ("goods.cancelled", "goods.refunded")
    assert shop.jobs(delivery) == ["order_completion"]
    with pytest.raises(StateConflictError):
        shop.world.retry(delivery)


@pytest.mark.parametrize("by", ["delivery", "job"])
def test_what_has_failed_is_revived_with_its_job(shop: Shop, by: str) -> None:
    delivery = failed(shop)

    done = shop.world.retry(key_of(shop, delivery, by))

    assert done.events == ("job.retried", "goods.retried")
    assert shop.state(delivery).stage == "pending"
    assert shop.jobs(delivery) == ["goods_delivery"]
    with pytest.raises(StateConflictError):
        shop.world.retry(delivery)


def states(shop: Shop) -> dict[str, UUID]:
    """Return deliveries that no cancel and no retry may touch."""
    found = {"submitted": shop.owe(has_job=False), "needs_review": shop.review()}
    shop.submit(found["submitted"])
    for verdict, state in (("delivered", "delivered"), ("not_purchased", "refunded")):
        found[state] = shop.review()
        shop.decide(found[state], verdict)
    return found


REMEDIES = {
    "submitted": ("deliveries reconcile", "counterfoil why"),
    "needs_review": ("deliveries decide", "deliveries decide"),
    "delivered": ("final", "final"),
    "refunded": ("final", "final"),
}


def test_everything_else_is_refused_with_what_to_do_instead(shop: Shop) -> None:
    for state, delivery in states(shop).items():
        before = shop.state(delivery)
        for verb, remedy in zip(
            (shop.world.cancel, shop.world.retry), REMEDIES[state], strict=True
        ):
            with pytest.raises(StateConflictError, match=remedy) as refused:
                verb(delivery)
            assert refused.value.state == state
        assert shop.state(delivery) == before
    assert [row[0] for row in shop.world.refusals()] == ["cancel", "retry"] * 4


def test_what_was_bought_again_after_an_unknown_end_is_not_cancelled(
    shop: Shop,
) -> None:
    """Requirements 9.7, 6: nothing is refunded while an earlier purchase is unknown."""
    delivery = shop.review()
    shop.decide(delivery, "buy_again")

    with pytest.raises(StateConflictError, match="nobody knew the end"):
        shop.world.cancel(delivery)

    shop.submit(delivery)
    shop.tell(delivery, Confirm(decision=2, reference=None))
    assert shop.state(delivery).stage == "delivered"
