"""Whenever this happened, that has to be done."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from application.policies import jobs_after
from domain.entitlement.state import Desired
from domain.fulfillment.events import Requested, Retried
from domain.jobs.aggregate import Enqueue
from domain.order.events import Fulfilled, Paid, WalletCredited

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


def test_a_topup_a_fulfilled_order_and_a_retry_ask_for_no_new_job() -> None:
    topup = WalletCredited(
        order_id="o",
        customer_id="c",
        slot=1,
        currency="USD",
        amount_minor=1,
        discount_minor=0,
    )

    silent = [topup, Fulfilled(operation=STREAM), Retried()]

    assert jobs_after(STREAM, silent, NOW) == ()
