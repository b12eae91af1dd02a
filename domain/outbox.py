"""Which events tell the outside world, and the little that each message says.

A message carries ids, states and amounts, and the notices of maintenance, which are
written for customers; never arguments, results, reasons, texts of errors or what a
provider answered.  Its topic is the tag of its event, and it is
written in the transaction that writes the event.
"""

from typing import Final
from uuid import UUID

import msgspec

from domain.entitlement.events import DriftDetected
from domain.entitlement.state import Entitlement
from domain.event import Event, Instant, JsonObject
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.events import Failed
from domain.goods import events as goods_events
from domain.goods.state import GoodsDelivery
from domain.jobs.aggregate import Job
from domain.jobs.events import Cancelled, Discarded, Succeeded
from domain.maintenance.aggregate import MaintenanceWindow
from domain.maintenance.events import Closed, Opened
from domain.operators.events import BalanceLow, Remark
from domain.order.aggregate import Order
from domain.order.events import (
    AddonPurchased,
    Fulfilled,
    Paid,
    Refunded,
    WalletCredited,
)
from domain.stream import State

TOLD: Final[tuple[type[Event], ...]] = (
    Paid,
    AddonPurchased,
    WalletCredited,
    Fulfilled,
    Refunded,
    Failed,
    DriftDetected,
    goods_events.Delivered,
    goods_events.Refunded,
    Succeeded,
    Discarded,
    Cancelled,
    Opened,
    Closed,
    BalanceLow,
)
"""The events that have a message."""

TOPICS: Final = frozenset(told.tag for told in TOLD)
"""Every topic that the outbox carries; a topic is the tag of its event."""


def outbox_data(event: Event, state: State, stream_id: UUID) -> JsonObject | None:
    """Return what the message about `event` says, or None when nobody is told.

    `state` is the state of the stream after `event`.
    """
    match event, state:
        case ((Paid() | AddonPurchased() | WalletCredited() | Fulfilled()), Order()):
            return _of_order(state, stream_id)
        case Refunded(), Order():
            return _of_order(state, stream_id) | {
                "lines": list(event.lines),
                "refunded_minor": event.amount_minor,
            }
        case DriftDetected(), Entitlement():
            return _of_drift(event, state, stream_id)
        case Failed(), FulfillmentOperation():
            return _of_operation(event, state, stream_id)
        case ((goods_events.Delivered() | goods_events.Refunded()), GoodsDelivery()):
            return _of_delivery(state, stream_id)
        case Succeeded(), Job():
            return _of_job(state, stream_id, event.attempt, None)
        case ((Discarded() | Cancelled()), Job()):
            return _of_job(state, stream_id, event.attempt, event.code)
        case ((Opened() | Closed()), MaintenanceWindow()):
            return _of_window(state, stream_id)
        case BalanceLow(), Remark():
            return _of_balance(event)
        case _:
            return None


def _of_order(order: Order, stream_id: UUID) -> JsonObject:
    return {
        "order_stream_id": str(stream_id),
        "order_id": order.order_id,
        "customer_id": order.customer_id,
        "slot": order.slot,
        "kind": order.kind,
        "state": order.stage.value,
        "currency": order.currency,
        "amount_minor": order.amount_minor,
        "discount_minor": order.discount_minor,
    }


def _of_operation(
    failed: Failed, operation: FulfillmentOperation, stream_id: UUID
) -> JsonObject:
    return {
        "operation_id": str(stream_id),
        "entitlement_id": _told(operation.entitlement),
        "order_stream_id": _told(operation.order),
        "operation": operation.operation,
        "state": operation.stage.value,
        "attempt": failed.attempt,
        "code": failed.code,
    }


def _of_drift(
    drift: DriftDetected, entitlement: Entitlement, stream_id: UUID
) -> JsonObject:
    return {
        "entitlement_id": str(stream_id),
        "customer_id": entitlement.customer_id,
        "slot": entitlement.slot,
        "desired_version": entitlement.desired_version,
        "kind": drift.kind,
    }


def _of_delivery(delivery: GoodsDelivery, stream_id: UUID) -> JsonObject:
    """Return the delivery without its recipient, who is somebody's name."""
    return {
        "delivery_id": str(stream_id),
        "order_stream_id": _told(delivery.order),
        "order_id": delivery.order_id,
        "customer_id": delivery.customer_id,
        "line": delivery.line,
        "provider": delivery.provider,
        "state": delivery.stage.value,
        "currency": delivery.currency,
        "paid_minor": delivery.paid_minor,
        "refunded_minor": delivery.refunded_minor,
        "code": delivery.code,
    }


def _of_job(job: Job, stream_id: UUID, attempt: int, code: str | None) -> JsonObject:
    return {
        "job_id": str(stream_id),
        "kind": job.kind,
        "attempt": attempt,
        "code": code,
    }


def _of_window(window: MaintenanceWindow, stream_id: UUID) -> JsonObject:
    """Return the window with its notices, which are for customers, not its reason."""
    return {
        "window_id": str(stream_id),
        "scope": window.scope,
        "source": window.source,
        "state": window.stage.value,
        "notice_ru": window.notice_ru,
        "notice_en": window.notice_en,
        "expected_return": _instant(window.expected_return),
    }


def _of_balance(low: BalanceLow) -> JsonObject:
    return {
        "provider": low.provider,
        "currency": low.currency,
        "balance_minor": low.balance_minor,
        "low_balance_minor": low.low_balance_minor,
    }


def _instant(instant: Instant | None) -> str | None:
    """Return an instant as it is stored in events: RFC 3339 in UTC."""
    return None if instant is None else str(msgspec.to_builtins(instant))


def _told(stream: UUID | None) -> str | None:
    return None if stream is None else str(stream)
