"""What follows from a delivery's events: more work, or a look at its order's end."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from application.births import after_delivery
from application.policies import (
    complete,
    deliver,
    jobs_after,
    jobs_after_delivery,
    reconcile,
)
from domain.event import Event
from domain.goods.events import (
    Cancelled,
    Deferred,
    Delivered,
    Owed,
    Product,
    PurchaseRefused,
    Reconciled,
    Refunded,
    ReviewDecided,
    ReviewOpened,
)
from domain.goods.state import GoodsDelivery, Stage
from domain.jobs.aggregate import Enqueue, Job
from domain.order.aggregate import Order
from domain.stream import Change, Ref, StreamKind
from tests.application.memory import Ids

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=2)
ORDER = UUID(int=1)
DELIVERY = UUID(int=2)
OWED = GoodsDelivery(stage=Stage.PENDING, order=ORDER, line=2, version=1)
OWES = Owed(
    order=ORDER,
    order_id="o",
    customer_id="c",
    line=2,
    provider="starshop",
    product=Product(kind="telegram_stars", quantity=50),
    quantity=1,
    recipient="anna",
    currency="USD",
    cost_minor=1,
    price_minor=2,
    paid_minor=2,
)
REFUNDED = Refunded(amount_minor=5, currency="USD", code="operator")
DECIDED = ReviewDecided(
    verdict="buy_again", evidence="the ledger", is_override=False, proposed_by=None
)
ABSENT = Reconciled(
    decision=1, found="absent", reference=None, code=None, is_conclusive=True
)


def goods(kind: str, due: datetime = NOW) -> Enqueue:
    return Enqueue(
        kind=kind,
        args={"delivery_id": str(DELIVERY)},
        queue="critical",
        priority=1,
        run_at=due,
        unique_key=f"{kind}:{DELIVERY}",
        serial_key=f"goods:{ORDER}",
    )


COMPLETION = Enqueue(
    kind="order_completion",
    args={"order_stream_id": str(ORDER), "cause": str(DELIVERY)},
    queue="critical",
    priority=1,
    run_at=NOW,
)


def after(state: GoodsDelivery, *events: Event) -> tuple[Enqueue, ...]:
    return jobs_after_delivery(DELIVERY, state, events, NOW)


def test_what_is_owed_is_bought_in_turn_with_its_orders_others() -> None:
    assert jobs_after(DELIVERY, [OWES], NOW) == (goods("goods_delivery"),)
    assert deliver(DELIVERY, ORDER, LATER) == goods("goods_delivery", LATER)
    assert reconcile(DELIVERY, ORDER, LATER) == goods("goods_reconcile", LATER)


@pytest.mark.parametrize(
    ("stage", "events"),
    [
        (Stage.DELIVERED, [Delivered(reference=None)]),
        (Stage.DELIVERED, [DECIDED, Delivered(reference=None)]),
        (Stage.REFUNDED, [REFUNDED]),
        (Stage.REFUNDED, [Cancelled(code="operator"), REFUNDED]),
        (Stage.CANCELLED, [Cancelled(code="operator")]),
    ],
)
def test_an_end_looks_once_whether_its_order_is_over(
    stage: Stage, events: list[Event]
) -> None:
    assert after(replace(OWED, stage=stage), *events) == (COMPLETION,)
    assert complete(ORDER, DELIVERY, NOW) == COMPLETION


@pytest.mark.parametrize("event", [DECIDED, ABSENT])
def test_what_was_certainly_not_bought_is_bought_by_a_new_job(event: Event) -> None:
    assert after(OWED, event) == (goods("goods_delivery"),)


def test_what_a_look_found_refused_is_bought_when_that_is_due() -> None:
    refused = PurchaseRefused(
        decision=1, failure_class="retryable", code="refused", next_at=LATER
    )

    assert after(replace(OWED, next_at=LATER), ABSENT, refused) == (
        goods("goods_delivery", LATER),
    )


@pytest.mark.parametrize(
    ("stage", "event"),
    [
        (Stage.NEEDS_REVIEW, ABSENT),
        (Stage.NEEDS_REVIEW, ReviewOpened(decision=1, code="timeout")),
        (Stage.PENDING, Deferred(code="provider_unconfigured", until=LATER)),
        (
            Stage.PENDING,
            PurchaseRefused(
                decision=1, failure_class="retryable", code="http_429", next_at=LATER
            ),
        ),
    ],
)
def test_what_waits_for_a_person_or_for_its_own_job_asks_for_none(
    stage: Stage, event: Event
) -> None:
    assert after(replace(OWED, stage=stage), event) == ()


def test_without_an_event_nothing_follows() -> None:
    assert after(replace(OWED, stage=Stage.DELIVERED)) == ()
    assert after(GoodsDelivery(), DECIDED) == ()


def test_what_follows_is_born_beside_the_deliverys_change() -> None:
    change = Change(
        ref=Ref(StreamKind.DELIVERY, DELIVERY),
        tenant_id="t",
        expected=1,
        events=(Delivered(reference=None),),
        state=replace(OWED, stage=Stage.DELIVERED, version=2),
    )

    (born,) = after_delivery(Ids(), change, NOW)

    assert (born.tenant_id, born.expected, born.ref.kind) == ("t", 0, StreamKind.JOB)
    assert isinstance(born.state, Job)
    assert born.state.kind == COMPLETION.kind
    other = replace(change, state=Order())
    assert after_delivery(Ids(), other, NOW) == ()
