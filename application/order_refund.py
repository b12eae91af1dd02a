"""What a refund takes back: decided once, by the job that the refund gave birth to.

a line of access that was fanned out ─► the entitlement is disabled, an operation
                                        `disable`, a job
a line of goods that no provider was ─► its delivery is cancelled
asked for
any other line of goods              ─► stays as it is; the job's result says so
everything else (an add-on, a topup, ─► order.refunded alone
an order that is not fanned out yet,
access that was paid for anew since)

An order that is not fanned out yet owes nothing any more: its fan-out sees that it is
refunded.  Neither decides beside the other's back: the fan-out holds the order to the
version that it read, and the refund holds the fan-out's job to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from application import births
from application.context import Context
from application.fulfillment.desired import INVALID
from application.orders.taking_back import taken_back
from application.ports import OperationRow, SettledOrder, Streams
from application.unit import Ids, changed, guard
from domain.entitlement import aggregate as entitlements
from domain.entitlement import timeline
from domain.entitlement.commands import Disable
from domain.entitlement.state import Entitlement
from domain.errors import IllegalTransitionError
from domain.event import Instant
from domain.fulfillment.commands import Request
from domain.fulfillment.operations import CREATE, DISABLE
from domain.jobs.outcome import Completed, Fail, Outcome
from domain.order import aggregate as orders
from domain.order.aggregate import Order
from domain.order.events import AddonPurchased, Line, Paid
from domain.order.share import share_of
from domain.stream import Change, Ref


class OrderRefundArgs(msgspec.Struct, frozen=True, kw_only=True):
    """What a job of kind `order_refund` is about; see `RefundRequest`."""

    order_id: str
    lines: tuple[int, ...] | None
    amount_minor: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class OrderRefund:
    """Handles jobs of kind `order_refund`; run twice, it decides once."""

    streams: Streams
    ids: Ids

    def __call__(self, args: OrderRefundArgs, ctx: Context) -> Outcome:
        """Return what the refund changes, or why a person has to look."""
        keys = self.streams.order_keys(ctx.tenant_id, args.order_id)
        asked_at = keys.refund_asked_at
        if keys.refund is None or asked_at is None or keys.refund.id != ctx.job_id:
            # Anybody may enqueue a job; a refund is asked for by its own door.
            return Fail(code="not_its_job")
        # First whether the fan-out is over: what it has decided is seen afterwards.
        fanout = _guarded(self.streams, keys.fanout)
        order = None if keys.order is None else self.streams.order(keys.order.id)
        if order is None:
            return Fail(code="order_missing")
        told = _lines(order)
        asked = told if args.lines is None else args.lines
        if not set(asked) <= set(told):
            return Fail(code="line_missing")
        goods = taken_back(self.streams, order, asked)
        lines = tuple(line for line in asked if line not in goods.kept_lines)
        refund = orders.Refund(
            lines=lines, amount_minor=_amount(order, args, lines), reason=args.reason
        )
        refunded = _refunded(self.streams, order.ref, refund)
        if refunded is None:
            return Completed(result={"refunded": 0})
        if asked and not lines:
            result = {"refunded": 0, **goods.told()}
            return Completed(result=result, changes=(*goods.changes, *fanout))
        try:
            access = self._disabled(order, lines, asked_at)
        except IllegalTransitionError:
            # What the customer has cannot be read, so it cannot be taken back.
            return Fail(code=INVALID)
        changes = (refunded, *access, *goods.changes, *fanout)
        return Completed(result={"refunded": 1, **goods.told()}, changes=changes)

    def _disabled(
        self, order: SettledOrder, lines: Sequence[int], asked_at: Instant
    ) -> tuple[Change, ...]:
        """Return what ends the access that the order has granted, if it has.

        Raises:
            IllegalTransitionError: nobody can read what the customer has.
        """
        if not isinstance(order.birth, Paid) or not _has_access(order.birth, lines):
            return ()
        found = self.streams.entitlement_of(
            order.tenant_id, order.birth.customer_id, order.birth.slot
        )
        if found is None:
            return ()
        (ref, head), rows = found, self.streams.operations_of(found[0].id)
        state = head.state
        if not isinstance(state, Entitlement) or not _has_granted(order, rows):
            return ()
        if self._is_paid_anew(state, rows, asked_at):
            return ()
        events = entitlements.decide(state, Disable())
        for event in events:
            state = entitlements.evolve(state, event)
        desired = timeline.in_force(state, order.read_at)
        if not events or desired is None:
            # Disabled already, and nothing that is to come would end that.
            return ()
        request = Request(
            entitlement=ref.id,
            order=order.ref.id,
            operation=DISABLE,
            desired_version=state.desired_version,
            desired=msgspec.structs.replace(desired, reset_traffic=False),
            # Not when it is decided: who pays in between has the last word.
            effective_at=min(asked_at, order.read_at),
            idempotency_key=f"order:{order.birth.order_id}:refund",
        )
        return (
            changed(ref, head, events, state),
            *births.requested(self.ids, order.tenant_id, request, order.read_at),
        )

    def _is_paid_anew(
        self, state: Entitlement, rows: Sequence[OperationRow], asked_at: Instant
    ) -> bool:
        """Whether access was paid for after the refund, for at once, and decided."""
        if state.paid_at is None or state.paid_at <= asked_at:
            return False
        planned = {upcoming.version for upcoming in state.upcoming}
        orders = (
            self.streams.order(row.order)
            for row in rows
            if row.operation == CREATE
            and row.order is not None
            and row.desired_version not in planned
        )
        return any(it is not None and it.settled_at > asked_at for it in orders)


def _has_access(paid: Paid, lines: Sequence[int]) -> bool:
    """Whether one of `lines` is of access."""
    return any(isinstance(it, Line) and it.line in lines for it in paid.lines)


def _amount(
    order: SettledOrder, args: OrderRefundArgs, lines: Sequence[int]
) -> int | None:
    """Return what went back: as told, else what was paid for these lines."""
    paid = order.birth
    if args.amount_minor is not None or not isinstance(paid, Paid):
        return args.amount_minor
    if len(lines) == len(paid.lines):
        return None
    return sum(share_of(paid, line) for line in paid.lines if line.line in lines)


def _has_granted(order: SettledOrder, rows: Sequence[OperationRow]) -> bool:
    return any(row.order == order.ref.id for row in rows)


def _lines(order: SettledOrder) -> tuple[int, ...]:
    """Return the numbers of all lines of an order."""
    match order.birth:
        case Paid() | AddonPurchased():
            return tuple(line.line for line in order.birth.lines)
        case _:
            return ()


def _refunded(streams: Streams, ref: Ref, refund: orders.Refund) -> Change | None:
    """Return the order's change, or None when it is refunded already."""
    head = streams.head(ref)
    if head is None or not isinstance(head.state, Order):
        msg = f"order {ref.id} has no head of its own"
        raise TypeError(msg)
    state = head.state
    events = orders.decide(state, refund)
    for event in events:
        state = orders.evolve(state, event)
    return changed(ref, head, events, state) if events else None


def _guarded(streams: Streams, job: Ref | None) -> tuple[Change, ...]:
    """Return what holds only while the job is as it is; nothing once it is over."""
    head = None if job is None else streams.head(job)
    if job is None or head is None:
        return ()
    return (guard(job, head.tenant_id, head.state.version),)
