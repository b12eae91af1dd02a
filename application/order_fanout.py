"""What a paid order owes: of access a new desired state and an operation, and goods.

order.paid ──────► entitlement granted (the first time) and desired state + 1
                 ► fulfillment.requested: `create` with the absolute desired state
                 ► job `fulfillment`, due when the order takes effect
                 ► for each line of goods: goods.owed, and its job `goods_delivery`
addon.purchased ─► desired state + 1, fulfillment.requested: `set_limits`, and its job

An order of goods alone has no entitlement.  Lines that were refunded before are not
owed.  All of it is written at once, so an order is fanned out whole or not at all, and
only while the order is as it was read: a refund that comes in between is seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from application import births
from application.context import Context
from application.fulfillment.desired import INVALID
from application.last_words import last_words
from application.orders.goods import goods_owed
from application.policies import access_key_of
from application.ports import OperationRow, SettledOrder, Streams
from application.unit import Ids, guard
from domain.entitlement import aggregate as entitlements
from domain.entitlement import timeline
from domain.entitlement.commands import AccessLine, AddOn, Settle
from domain.entitlement.state import Desired, Entitlement, Stage
from domain.event import Instant
from domain.fulfillment.aggregate import Stage as OperationStage
from domain.fulfillment.commands import Request
from domain.jobs.outcome import Completed, Fail, Outcome
from domain.order.events import AddonPurchased, GoodsLine, Line, Paid
from domain.stream import Change, Ref, StreamKind

CREATE: Final = "create"
SET_LIMITS: Final = "set_limits"

_NAME_DIGITS: Final = 16

LEGACY_PREFIX: Final = "omniflow_"
"""How panel users were named before this product; adopted, never given anew."""


class OrderFanoutArgs(msgspec.Struct, frozen=True):
    """What a job of kind `order_fanout` is about."""

    order_stream_id: UUID


@dataclass(frozen=True, slots=True)
class _Owner:
    """The customer's entitlement, or the unborn one that the order grants."""

    ref: Ref
    state: Entitlement


@dataclass(frozen=True, slots=True)
class OrderFanout:
    """Handles jobs of kind `order_fanout`; run twice, it decides once."""

    streams: Streams
    ids: Ids
    username_prefix: str

    def __call__(self, args: OrderFanoutArgs, ctx: Context) -> Outcome:
        """Return the births and changes that the order's lines ask for."""
        order = self.streams.order(args.order_stream_id)
        if order is None:
            return Fail(code="order_missing")
        paid = order.birth
        if not isinstance(paid, Paid | AddonPurchased):
            return Completed(result={"owed": 0})
        access = self._access(order, paid)
        goods = goods_owed(self.streams, self.ids, order, paid)
        if isinstance(access, Fail):
            return access
        if access is None or goods is None:
            return Completed(result={"owed": 0})
        owed = bool(access) + len(goods)
        if not owed:
            return Completed(result={"owed": 0})
        if goods and not self._is_its_job(order, paid, ctx):
            # Of two that owe at once, a key would let either win: never a stranger.
            return Fail(code="not_its_job")
        unchanged = guard(order.ref, order.tenant_id, order.version)
        births = tuple(change for line in goods for change in line)
        return Completed(result={"owed": owed}, changes=(unchanged, *access, *births))

    def _is_its_job(
        self, order: SettledOrder, paid: Paid | AddonPurchased, ctx: Context
    ) -> bool:
        fanout = self.streams.order_keys(order.tenant_id, paid.order_id).fanout
        return fanout is not None and fanout.id == ctx.job_id

    def _access(
        self, order: SettledOrder, paid: Paid | AddonPurchased
    ) -> tuple[Change, ...] | Fail | None:
        """Return what the line of access asks for; None when it was decided before."""
        if not any(
            not isinstance(line, GoodsLine) and line.line not in order.refunded_lines
            for line in paid.lines
        ):
            return ()
        owner = self._owner(order, paid)
        if owner.state.is_unreadable:
            return Fail(code=INVALID)
        if isinstance(paid, AddonPurchased) and owner.state.stage is Stage.UNBORN:
            # Nothing to add to: what was paid before it is dead, or never was.
            return Fail(code="no_entitlement")
        earlier = self.streams.operations_of(owner.ref.id)
        if any(row.order == order.ref.id for row in earlier):
            return None
        return self._changes(order, paid, owner, earlier)

    def _owner(self, order: SettledOrder, paid: Paid | AddonPurchased) -> _Owner:
        found = self.streams.entitlement_of(
            order.tenant_id, paid.customer_id, paid.slot
        )
        if found is None:
            return _Owner(Ref(StreamKind.ENTITLEMENT, self.ids()), Entitlement())
        ref, head = found
        state = head.state if isinstance(head.state, Entitlement) else Entitlement()
        return _Owner(ref, state)

    def _changes(
        self,
        order: SettledOrder,
        paid: Paid | AddonPurchased,
        owner: _Owner,
        earlier: Sequence[OperationRow],
    ) -> tuple[Change, ...]:
        command: Settle | AddOn
        if isinstance(paid, Paid):
            command = self._settle(order, paid, owner, earlier)
            operation, key = CREATE, access_key_of(paid.order_id)
        else:
            command = _add_on(order, paid, self._kept(order, earlier))
            operation, key = SET_LIMITS, f"order:{paid.order_id}:addon"
        events = entitlements.decide(owner.state, command)
        entitlement = owner.state
        for event in events:
            entitlement = entitlements.evolve(entitlement, event)
        desired, effective_at = _asked_for(entitlement, paid, order)
        request = Request(
            entitlement=owner.ref.id,
            order=order.ref.id,
            operation=operation,
            desired_version=entitlement.desired_version,
            desired=desired,
            effective_at=effective_at,
            idempotency_key=key,
        )
        changed = Change(
            ref=owner.ref,
            tenant_id=order.tenant_id,
            expected=owner.state.version,
            events=events,
            state=entitlement,
        )
        return (
            changed,
            *births.requested(self.ids, order.tenant_id, request, order.read_at),
        )

    def _settle(
        self,
        order: SettledOrder,
        paid: Paid,
        owner: _Owner,
        earlier: Sequence[OperationRow],
    ) -> Settle:
        line = next(it for it in paid.lines if isinstance(it, Line))
        return Settle(
            order=order.ref.id,
            settled_at=order.settled_at,
            effective_at=_later(paid, order),
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
            legacy_username=self._legacy_username(paid, owner),
            carried_reset=owes_reset(earlier),
            kept=self._kept(order, earlier),
        )

    def _kept(
        self, order: SettledOrder, earlier: Sequence[OperationRow]
    ) -> frozenset[str]:
        return last_words(self.streams, earlier, order.settled_at)

    def _legacy_username(self, paid: Paid, owner: _Owner) -> str | None:
        """Return the name of the user that the first order may adopt, once.

        Half of the id makes the name, so two customers may share it, and so may two
        tenants: whoever comes first has the user, and nobody shares it with him.
        """
        name = _legacy_username(paid.customer_id, paid.slot)
        if name is None or owner.state.stage is not Stage.UNBORN:
            return None
        return None if self.streams.has_legacy_username(name) else name


def _add_on(order: SettledOrder, paid: AddonPurchased, kept: frozenset[str]) -> AddOn:
    (line,) = paid.lines
    return AddOn(
        order=order.ref.id,
        settled_at=order.settled_at,
        at=order.read_at,
        days=line.days,
        ends_at=line.ends_at,
        grace_seconds=line.grace_seconds,
        traffic_bytes=line.traffic_bytes,
        device_limit=line.device_limit,
        squad_ids=line.squad_ids,
        kept=kept,
    )


def _later(paid: Paid, order: SettledOrder) -> Instant | None:
    """Return when the order takes effect, if that was later than its settlement."""
    is_later = paid.effective_at is not None and paid.effective_at > order.settled_at
    return paid.effective_at if is_later else None


def _asked_for(
    entitlement: Entitlement, paid: Paid | AddonPurchased, order: SettledOrder
) -> tuple[Desired, Instant]:
    """Return what the panel shall show after the newest change, and from when on."""
    told = paid.effective_at or order.settled_at
    upcoming = timeline.newest(entitlement)
    if upcoming is not None:
        return upcoming.desired, told
    if entitlement.desired is None:
        msg = "a settlement left its entitlement without a desired state"
        raise AssertionError(msg)
    # One for later that was overtaken by a later payment adds its days at once.
    return entitlement.desired, min(told, order.settled_at)


def owes_reset(operations_so_far: Sequence[OperationRow]) -> bool:
    """Whether a traffic reset was asked for that no success has carried yet."""
    carried = max(
        (
            row.desired_version
            for row in operations_so_far
            if row.state == OperationStage.SUCCEEDED and row.reset_traffic
        ),
        default=0,
    )
    return any(
        row.reset_traffic and row.desired_version > carried
        for row in operations_so_far
        if row.state != OperationStage.SUCCEEDED
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
