"""Whether everything of an order with goods is over, seen by a job of its own.

everything over, something delivered ─► order.fulfilled
nothing delivered, the money is back ─► order.refunded, its reason `goods_refunded`
something still to come              ─► nothing: its own end gives birth to this again

Each delivery that is over, and each success of an operation that carries the access of
such an order, gives birth to one job in its own transaction.  It runs after that is
committed, so of two that end at once the job of whichever came last sees both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from application.context import Context
from application.policies import access_key_of
from application.ports import SettledOrder, Streams
from application.unit import Head, changed, guard
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.aggregate import Stage as OperationStage
from domain.fulfillment.operations import CREATE
from domain.goods.state import FINAL, GoodsDelivery
from domain.goods.state import Stage as DeliveryStage
from domain.jobs.outcome import Completed, Fail, Outcome
from domain.order import aggregate as orders
from domain.order.aggregate import Order, OrderCommand, Stage
from domain.order.events import Line, Paid
from domain.stream import Change, Ref

GOODS_REFUNDED: Final = "goods_refunded"
"""Reason of an order's refund: none of its goods could be had, so the money is back."""


class OrderCompletionArgs(msgspec.Struct, frozen=True):
    """What a job of kind `order_completion` is about."""

    order_stream_id: UUID
    cause: UUID
    """The delivery, or the operation, that has ended."""


@dataclass(frozen=True, slots=True)
class _Access:
    """What carried the access of an order to the panel, and what that rests on."""

    operation: UUID | None
    """None: the order has no line of access."""
    guards: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class OrderCompletion:
    """Handles jobs of kind `order_completion`; run twice, it decides once."""

    streams: Streams

    def __call__(self, args: OrderCompletionArgs, _ctx: Context) -> Outcome:
        """Return the order's end, if everything of it is over."""
        order = self.streams.order(args.order_stream_id)
        head = None if order is None else self.streams.head(order.ref)
        if order is None or head is None or not isinstance(head.state, Order):
            return Fail(code="order_missing")
        if head.state.stage is not Stage.PAID:
            return Completed(result={"order": head.state.stage})
        deliveries = self.streams.deliveries_of(order.ref.id)
        access = self._access(order)
        if access is None or not _is_over(deliveries):
            return Completed(result={"order": "waiting"})
        command = _end(deliveries, access)
        ended = _ended(order.ref, head, head.state, command)
        guards = (guard(r, h.tenant_id, h.state.version) for r, h in deliveries)
        is_refund = isinstance(command, orders.Refund)
        return Completed(
            result={"order": Stage.REFUNDED if is_refund else Stage.FULFILLED},
            changes=(ended, *access.guards, *guards),
        )

    def _access(self, order: SettledOrder) -> _Access | None:
        """Return what carried the access, or None as long as nothing has."""
        paid = order.birth
        if not isinstance(paid, Paid):
            return None
        if not any(isinstance(line, Line) for line in paid.lines):
            return _Access(None, ())
        key = access_key_of(paid.order_id)
        found = self.streams.operation_with_key(order.tenant_id, key)
        if found is None:
            return None
        ref, head = found
        operation = head.state
        if not isinstance(operation, FulfillmentOperation):
            return None
        carrier = self._carrier(ref, operation)
        if carrier is None:
            return None
        return _Access(carrier, (guard(ref, head.tenant_id, operation.version),))

    def _carrier(self, ref: Ref, operation: FulfillmentOperation) -> UUID | None:
        """Return the operation that succeeded: this one, or one that covers it."""
        if operation.stage is OperationStage.SUCCEEDED:
            return ref.id
        if operation.covered_by is None or operation.entitlement is None:
            return None
        for row in self.streams.operations_of(operation.entitlement):
            if (
                row.operation == CREATE
                and row.desired_version > operation.desired_version
                and row.state == OperationStage.SUCCEEDED
            ):
                return row.ref.id
        return None


def _is_over(deliveries: Sequence[tuple[Ref, Head]]) -> bool:
    """Whether the order was fanned out, and nothing of it is to come any more."""
    stages = [delivery.stage for delivery in _states(deliveries)]
    return bool(stages) and all(stage in FINAL for stage in stages)


def _end(deliveries: Sequence[tuple[Ref, Head]], access: _Access) -> OrderCommand:
    states = _states(deliveries)
    is_delivered = any(it.stage is DeliveryStage.DELIVERED for it in states)
    if access.operation is not None or is_delivered:
        return orders.Fulfill(access.operation)
    return orders.Refund(
        lines=tuple(it.line for it in states),
        amount_minor=sum(it.refunded_minor or 0 for it in states),
        reason=GOODS_REFUNDED,
    )


def _states(deliveries: Sequence[tuple[Ref, Head]]) -> list[GoodsDelivery]:
    states = (head.state for _, head in deliveries)
    return [state for state in states if isinstance(state, GoodsDelivery)]


def _ended(ref: Ref, head: Head, order: Order, command: OrderCommand) -> Change:
    events = orders.decide(order, command)
    for event in events:
        order = orders.evolve(order, event)
    return changed(ref, head, events, order)
