"""Every accepted action is on record, once, in the transaction of what was done (I9).

Also when it was so already: then what it was before and after are the same.  Shown are
states and figures of what was locked; never arguments, payloads, notes or secrets.

    deed = Deed(action=JOB_RETRIED, target_kind="job", target=str(id), refs=(ref,))
    units.commit([on_record(group, deed, ids())])       decided over locked heads
    record(units, ids, deed, tenant_id, meta)            found so already, no group
    remark(connection, telling.events(…), …)             rows that have no heads

A group that is refused records nothing here; see `application.operators.refusals`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from application.operators.refusals import DEFAULT_TENANT
from application.unit import Group, Ids, Locked, Refused, UnitOfWork, Written
from domain.bulk.aggregate import BulkOperation
from domain.entitlement.state import Entitlement
from domain.event import Instant, JsonObject, Meta
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.goods.state import GoodsDelivery
from domain.jobs.aggregate import Job
from domain.maintenance.aggregate import MaintenanceWindow
from domain.operators.actions import category_of
from domain.operators.events import ActionTaken, OperatorEvent
from domain.operators.remarks import remarked
from domain.order.aggregate import Order
from domain.stream import Change, Ref, State, StreamKind


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """One action on its way to be done: what the audit calls it, and of what it is."""

    action: str
    """One of `domain.operators.actions`."""
    target_kind: str
    target: str
    """The id, or the name, of what it is done to."""
    refs: tuple[Ref, ...] = ()
    """The heads that are shown before and after; those of births too."""


class Telling(msgspec.Struct, frozen=True):
    """How a change of a row is told: as which deed, and by whom."""

    deed: Deed
    meta: Meta

    def events(
        self, event: OperatorEvent | None, before: JsonObject, after: JsonObject
    ) -> tuple[OperatorEvent, ...]:
        """Return what is written: what is new, if anything is, then the record."""
        record = taken(self.deed, before, after)
        return (record,) if event is None else (event, record)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What a change of a row has written."""

    is_new: bool
    """False: it was so already, and only that is on record."""
    position: int
    """Of the record, which is behind the event."""


def taken(deed: Deed, before: JsonObject, after: JsonObject) -> ActionTaken:
    """Return what is put on record of a deed that was done."""
    return ActionTaken(
        action=deed.action,
        category=category_of(deed.action),
        target_kind=deed.target_kind,
        target=deed.target,
        before=before,
        after=after,
    )


def on_record(group: Group, deed: Deed, remark: UUID) -> Group:
    """Return `group` with the deed's event beside its changes, under a new id.

    Unless the group is refused; also when it changes nothing.  Its own changes come
    first, so the position of what was written is that of the record.
    """
    ref = Ref(StreamKind.REMARK, remark)
    return replace(
        group,
        refs=(*group.refs, ref),
        decide=partial(_decided, group, deed, ref),
        meta=msgspec.structs.replace(group.meta, action=deed.action),
    )


def record(  # noqa: PLR0913 - what a record is made of
    units: UnitOfWork,
    ids: Ids,
    deed: Deed,
    tenant_id: str,
    meta: Meta,
    *,
    told: JsonObject | None = None,
) -> Written:
    """Commit that a deed was asked for, and changed nothing: the heads are read here.

    `told` is shown beside them.

    Raises:
        DatabaseUnavailableError: it is not known to be recorded.
    """
    ref = Ref(StreamKind.REMARK, ids())

    def decide(locked: Locked, _now: Instant) -> tuple[Change, ...]:
        heads = _shown(deed, {ref: head.state for ref, head in locked.items()})
        shown = {**(told or {}), **heads}
        return (remarked(ref, tenant_id, taken(deed, shown, shown)),)

    (result,) = units.commit([Group((*deed.refs, ref), decide, meta)])
    if not isinstance(result, Written):
        msg = f"the record of {deed.action} was refused"
        raise TypeError(msg)
    return result


def done(written: Written) -> tuple[Change, ...]:
    """Return what was changed, without the records of it."""
    return tuple(
        each for each in written.changes if each.ref.kind is not StreamKind.REMARK
    )


def _decided(
    group: Group, deed: Deed, ref: Ref, locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    changes = group.decide(locked, now)
    if isinstance(changes, Refused):
        return changes
    before = {each: head.state for each, head in locked.items()}
    after = before | {each.ref: each.state for each in changes if each.events}
    event = taken(deed, _shown(deed, before), _shown(deed, after))
    return (*changes, remarked(ref, _tenant(deed, locked, changes), event))


def _tenant(deed: Deed, locked: Locked, changes: tuple[Change, ...]) -> str:
    """Return whose record it is: of the first thing that it is about."""
    born = {each.ref: each.tenant_id for each in changes}
    owned = born | {ref: head.tenant_id for ref, head in locked.items()}
    found = (owned[ref] for ref in (*deed.refs, *owned) if ref in owned)
    return next(found, DEFAULT_TENANT)


def _shown(deed: Deed, states: Mapping[Ref, State]) -> JsonObject:
    """Return the figures of the deed's heads, by their kind; unborn ones are left out.

    Of one kind a deed is about one head.
    """
    return {
        ref.kind.name.lower(): figures(ref, states[ref])
        for ref in deed.refs
        if ref in states
    }


_FIGURES: Final[Mapping[type[State], tuple[str, ...]]] = {
    Job: (
        "stage", "kind", "cause", "run_at", "attempt", "parkings", "crashes",
        "cancel_requested", "code", "error_code",
    ),
    FulfillmentOperation: (
        "stage", "operation", "desired_version", "attempts", "code", "parked_cause",
        "next_attempt_at",
    ),
    GoodsDelivery: (
        "stage", "provider", "purchases", "decision", "standing", "code", "currency",
        "paid_minor", "refunded_minor", "is_doubtful", "proposal",
    ),
    Entitlement: (
        "stage", "desired_version", "paused_at", "is_disabled",
    ),
    Order: ("stage", "kind", "currency", "amount_minor", "discount_minor"),
    MaintenanceWindow: ("stage", "scope", "source", "expected_return"),
    BulkOperation: ("stage", "action", "items", "verdicts", "code"),
}  # fmt: skip
"""What is shown of each state, by its members; of others their version alone."""

_DESIRED: Final = ("ends_at", "traffic_bytes", "device_limit")


def figures(ref: Ref, state: State) -> JsonObject:
    """Return the states and figures of one head that may be shown to whoever audits."""
    named = {name: getattr(state, name) for name in _FIGURES.get(type(state), ())}
    if isinstance(state, Entitlement) and state.desired is not None:
        named |= {name: getattr(state.desired, name) for name in _DESIRED}
        named["squads"] = len(state.desired.squad_ids)
    if isinstance(state, GoodsDelivery) and state.proposal is not None:
        named["proposal"] = state.proposal.verdict
    told: JsonObject = {"id": str(ref.id), "version": state.version}
    if "stage" in named:
        told["state"] = named.pop("stage")
    told |= {name: value for name, value in named.items() if value is not None}
    return dict(msgspec.to_builtins(told))
