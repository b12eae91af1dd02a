"""Whenever this happened, that has to be done."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from application.policies import jobs_after, refund
from domain.entitlement.state import Desired
from domain.fulfillment.events import Requested, Retried
from domain.jobs.aggregate import Enqueue
from domain.order.events import (
    AddonPurchased,
    Fulfilled,
    Paid,
    Refunded,
    WalletCredited,
)
from domain.order.request import RefundRequest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = UUID(int=1)
ENTITLEMENT = UUID(int=2)


def paid(customer_id: str = "c", slot: int = 3) -> Paid:
    return Paid(
        order_id="o",
        customer_id=customer_id,
        slot=slot,
        kind="purchase",
        currency="USD",
        amount_minor=1,
        discount_minor=0,
        effective_at=None,
        lines=(),
    )


def requested(effective_at: datetime) -> Requested:
    return Requested(
        entitlement=ENTITLEMENT,
        order=None,
        operation="create",
        desired_version=4,
        desired=Desired(ends_at=NOW),
        effective_at=effective_at,
        idempotency_key="k",
    )


def test_a_paid_order_is_fanned_out_now_in_turn_with_its_customers_others() -> None:
    assert jobs_after(STREAM, [paid()], NOW) == (
        Enqueue(
            kind="order_fanout",
            args={"order_stream_id": str(STREAM)},
            queue="critical",
            priority=1,
            run_at=NOW,
            unique_key=f"order_fanout:{STREAM}",
            serial_key="fanout:c:3",
        ),
    )


def test_an_add_on_takes_its_turn_among_its_customers_orders() -> None:
    addon = AddonPurchased(
        order_id="o",
        customer_id="c",
        slot=3,
        kind="addon",
        currency="USD",
        amount_minor=1,
        discount_minor=0,
        effective_at=None,
        lines=(),
    )

    assert jobs_after(STREAM, [addon], NOW) == jobs_after(STREAM, [paid()], NOW)


def test_a_refund_is_decided_now_by_a_job_of_its_own() -> None:
    request = RefundRequest(
        tenant="default",
        order_id="o",
        lines=(2, 1),
        amount_minor=None,
        reason="charged back",
        correlation_id="order:o",
    )

    assert refund(request, NOW) == Enqueue(
        kind="order_refund",
        args={
            "order_id": "o",
            "lines": [2, 1],
            "amount_minor": None,
            "reason": "charged back",
        },
        queue="critical",
        priority=1,
        run_at=NOW,
    )


def test_a_requested_operation_is_carried_out_in_the_order_of_versions() -> None:
    assert jobs_after(STREAM, [requested(NOW - timedelta(days=1))], NOW) == (
        Enqueue(
            kind="fulfillment",
            args={"operation_id": str(STREAM)},
            queue="critical",
            priority=1,
            run_at=NOW,
            unique_key=f"fulfillment:{STREAM}",
            serial_key=f"entitlement:{ENTITLEMENT}",
            serial_order=4,
        ),
    )


def test_an_operation_of_later_is_due_then() -> None:
    later = NOW + timedelta(days=1)

    (job,) = jobs_after(STREAM, [requested(later)], NOW)

    assert job.run_at == later


def test_a_topup_an_order_that_has_ended_and_a_retry_ask_for_no_new_job() -> None:
    topup = WalletCredited(
        order_id="o",
        customer_id="c",
        slot=1,
        currency="USD",
        amount_minor=1,
        discount_minor=0,
    )

    refunded = Refunded(lines=(), amount_minor=1, reason="why")
    silent = [topup, Fulfilled(operation=STREAM), refunded, Retried()]

    assert jobs_after(STREAM, silent, NOW) == ()
