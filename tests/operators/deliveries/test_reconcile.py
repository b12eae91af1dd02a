"""A person has the provider asked: by a job that never buys, one at a time."""

import pytest

from application.errors import CannotBeAskedError, NotFoundError, StateConflictError
from domain.goods.commands import Confirm
from tests.operators.deliveries.goods import Provider, Shop

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def test_a_review_is_asked_about_by_one_job(shop: Shop) -> None:
    delivery = shop.review()

    asked = shop.reconcile(delivery, by="ann")
    again = shop.reconcile(delivery, by="bob")

    assert not asked.replayed
    assert again.replayed
    assert again.job_id == asked.job_id
    assert again.position >= asked.position
    assert shop.jobs(delivery) == ["goods_reconcile"]
    assert shop.state(delivery).stage == "needs_review"
    ((serial, actor, reason),) = shop.world.connection.execute(
        """
        SELECT data->>'serial_key', meta->'actor'->>'id', meta->>'reason'
          FROM counterfoil.events WHERE stream_id = %s
        """,
        (asked.job_id,),
    ).fetchall()
    assert serial == f"goods:{shop.state(delivery).order}"
    assert (actor, reason) == ("ann", "its answer was lost")


def test_a_provider_that_cannot_tell_is_not_asked(shop: Shop) -> None:
    shop.providers["blind"] = Provider(can_look_up=False)
    blind, unknown = shop.review(provider="blind"), shop.review(provider="gone")

    with pytest.raises(CannotBeAskedError, match="deliveries decide") as refused:
        shop.reconcile(blind)
    with pytest.raises(CannotBeAskedError, match="no provider gone"):
        shop.reconcile(unknown)

    assert refused.value.code == "lookup_unsupported"
    assert shop.jobs(blind) == shop.jobs(unknown) == []
    assert [row[:3] for row in shop.world.refusals()] == [
        ("reconcile_delivery", str(blind), "lookup_unsupported"),
        ("reconcile_delivery", str(unknown), "provider_unconfigured"),
    ]


def test_there_must_be_something_to_ask_about(shop: Shop) -> None:
    owed, asked, over = shop.owe(), shop.owe(), shop.review()
    shop.submit(asked)
    shop.tell(over, Confirm(decision=1, reference=None))

    for delivery, state in ((owed, "pending"), (asked, "being asked")):
        with pytest.raises(StateConflictError) as refused:
            shop.reconcile(delivery)
        assert refused.value.state == state
    with pytest.raises(StateConflictError, match="final"):
        shop.reconcile(over)
    with pytest.raises(NotFoundError):
        shop.reconcile("A-1")
