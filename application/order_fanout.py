"""What a paid order owes: its entitlement's new desired state, an operation, a job.

order.paid ─► entitlement granted (the first time) and desired state + 1
           ─► fulfillment.requested: `create` with the absolute desired state
           ─► job `fulfillment`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from application.context import Context
from application.policies import jobs_after
from application.ports import OperationRow, SettledOrder, Streams
from application.unit import Ids
from domain.entitlement import aggregate as entitlements
from domain.entitlement.commands import AccessLine, Settle
from domain.entitlement.state import Entitlement
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation, Stage
from domain.fulfillment.commands import Request
from domain.jobs import aggregate as jobs
from domain.jobs.aggregate import Job
from domain.jobs.outcome import Completed, Fail, Outcome
from domain.order.events import Line, Paid
from domain.stream import Change, Ref, StreamKind

_NAME_DIGITS: Final = 16

LEGACY_PREFIX: Final = "omniflow_"
"""How panel users were named before this product; adopted, never given anew."""


class OrderFanoutArgs(msgspec.Struct, frozen=True):
    """What a job of kind `order_fanout` is about."""

    order_stream_id: UUID


@dataclass(frozen=True, slots=True)
class OrderFanout:
    """Handles jobs of kind `order_fanout`; run twice, it decides once."""

    streams: Streams
    ids: Ids
    username_prefix: str

    def __call__(self, args: OrderFanoutArgs, _ctx: Context) -> Outcome:
        """Return the births and changes that the order's lines ask for."""
        order = self.streams.order(args.order_stream_id)
        if order is None:
            return Fail(code="order_missing")
        if not isinstance(order.birth, Paid):
            return Completed(result={"owed": 0})
        line = next((it for it in order.birth.lines if it.type == "access"), None)
        if line is None:
            return Fail(code="no_access_line")
        owner = self._entitlement(order, order.birth)
        earlier = self.streams.operations_of(owner.ref.id)
        if any(row.order == order.ref.id for row in earlier):
            return Completed(result={"owed": 0})
        settle = self._settle(order, order.birth, line, owner, earlier)
        return Completed(
            result={"owed": 1}, changes=self._changes(order, order.birth, owner, settle)
        )

    def _entitlement(self, order: SettledOrder, paid: Paid) -> "_Owner":
        found = self.streams.entitlement_of(
            order.tenant_id, paid.customer_id, paid.slot
        )
        if found is None:
            return _Owner(Ref(StreamKind.ENTITLEMENT, self.ids()), Entitlement())
        ref, head = found
        state = head.state if isinstance(head.state, Entitlement) else Entitlement()
        return _Owner(ref, state)

    def _settle(
        self,
        order: SettledOrder,
        paid: Paid,
        line: Line,
        owner: "_Owner",
        earlier: Sequence[OperationRow],
    ) -> Settle:
        return Settle(
            order=order.ref.id,
            settled_at=order.settled_at,
            line=AccessLine(
                days=line.days,
                ends_at=line.ends_at,
                grace_seconds=line.grace_seconds,
                traffic_bytes=line.traffic_bytes,
                device_limit=line.device_limit,
                squad_ids=line.squad_ids,
                reset_traffic=line.reset_traffic,
            ),
            customer_id=paid.customer_id,
            slot=paid.slot,
            username=f"{self.username_prefix}{owner.ref.id.hex[-_NAME_DIGITS:]}",
            legacy_username=_legacy_username(paid.customer_id, paid.slot),
            carried_reset=owes_reset(earlier),
        )

    def _changes(
        self, order: SettledOrder, paid: Paid, owner: "_Owner", settle: Settle
    ) -> tuple[Change, ...]:
        settled = entitlements.decide(owner.state, settle)
        entitlement = owner.state
        for happened in settled:
            entitlement = entitlements.evolve(entitlement, happened)
        if entitlement.desired is None:
            msg = "a settlement left its entitlement without a desired state"
            raise AssertionError(msg)
        request = Request(
            entitlement=owner.ref.id,
            order=order.ref.id,
            operation="create",
            desired_version=entitlement.desired_version,
            desired=entitlement.desired,
            effective_at=paid.effective_at or order.settled_at,
            idempotency_key=f"order:{paid.order_id}:fulfill",
        )
        changed = Change(
            ref=owner.ref,
            tenant_id=order.tenant_id,
            expected=owner.state.version,
            events=settled,
            state=entitlement,
        )
        return (changed, *self._births(order, request))

    def _births(self, order: SettledOrder, request: Request) -> tuple[Change, ...]:
        """Return the operation and the jobs that policy asks for after it."""
        ref = Ref(StreamKind.OPERATION, self.ids())
        requested = operations.decide(FulfillmentOperation(), request)
        operation = FulfillmentOperation()
        for happened in requested:
            operation = operations.evolve(operation, happened)
        born = Change(
            ref=ref,
            tenant_id=order.tenant_id,
            expected=0,
            events=requested,
            state=operation,
        )
        asked = jobs_after(ref.id, requested, order.read_at)
        return (born, *(self._job(order.tenant_id, enqueue) for enqueue in asked))

    def _job(self, tenant_id: str, enqueue: jobs.Enqueue) -> Change:
        enqueued = jobs.decide(Job(), enqueue)
        return Change(
            ref=Ref(StreamKind.JOB, self.ids()),
            tenant_id=tenant_id,
            expected=0,
            events=enqueued,
            state=jobs.fold(enqueued),
        )


@dataclass(frozen=True, slots=True)
class _Owner:
    """The customer's entitlement, or the unborn one that the order grants."""

    ref: Ref
    state: Entitlement


def owes_reset(operations_so_far: Sequence[OperationRow]) -> bool:
    """Whether a traffic reset was asked for that no success has carried yet."""
    carried = max(
        (
            row.desired_version
            for row in operations_so_far
            if row.state == Stage.SUCCEEDED and row.reset_traffic
        ),
        default=0,
    )
    return any(
        row.reset_traffic and row.desired_version > carried
        for row in operations_so_far
        if row.state != Stage.SUCCEEDED
    )


def _legacy_username(customer_id: str, slot: int) -> str | None:
    if slot != 1:
        return None
    try:
        customer = UUID(customer_id)
    except ValueError:
        return None
    # Braces and `urn:uuid:` are no ids that the earlier product ever gave.
    if str(customer) != customer_id.lower():
        return None
    return f"{LEGACY_PREFIX}{customer.hex[:_NAME_DIGITS]}"
