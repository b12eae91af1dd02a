"""I1, I6: a job that anybody enqueued moves nothing of what a paid order is owed."""

from datetime import UTC, datetime

import pytest

from application.unit import Written
from domain.fulfillment.aggregate import Stage
from domain.jobs import aggregate as jobs
from domain.jobs.outcome import Fail
from domain.jobs.verdict import Unfit
from domain.stream import Ref
from tests.application.shop import Shop

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


def stray(shop: Shop, operation: Ref, key: str | None, tenant: str) -> Ref:
    asked = jobs.Enqueue(
        kind="fulfillment",
        args={"operation_id": str(operation.id)},
        run_at=shop.log.now,
        unique_key=key,
        deadline=LONG_AGO,
    )
    return shop.enqueue(asked, tenant)


@pytest.mark.parametrize(
    ("key", "tenant"),
    [
        (None, "default"),
        ("another", "default"),
        ("fulfillment:{}", "elsewhere"),
        (None, "elsewhere"),
    ],
)
def test_i1_a_stray_job_neither_asks_the_panel_nor_fails_the_operation(
    key: str | None, tenant: str
) -> None:
    """A stray `fulfillment` with a deadline in 2001 made a paid order a dead letter."""
    shop = Shop()
    operation = shop.buy()
    job = stray(shop, operation, key and key.format(operation.id), tenant)
    late = stray(shop, operation, key and key.format(operation.id), tenant)

    outcome = shop.run(job)
    ended = shop.settle(shop.claim(late), Unfit(code="deadline_exceeded"))

    assert isinstance(outcome, Fail)
    assert outcome.code == "not_its_job"
    assert isinstance(ended, Written)
    assert shop.panel.asked == []
    assert shop.log.operation(operation).stage is Stage.PENDING
    shop.run(shop.job_of(operation))
    assert shop.log.operation(operation).stage is Stage.SUCCEEDED
    order = shop.log.operation(operation).order
    assert shop.log.is_fulfilled(order)
