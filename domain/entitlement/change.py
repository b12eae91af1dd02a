"""What a settlement, an add-on or an operator makes of the desired state.

Days always add, to the end of what is planned; limits, squads and grace follow the
settlement paid last.  Whoever decides late (a settlement that was paid before one
that is decided already) adds its days and changes nothing else.  What a person has
changed after the payment stays as he left it, however late the payment is decided.
"""

from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from domain.entitlement.commands import AddOn, Adjust, Given, Settle
from domain.entitlement.events import DesiredChanged
from domain.entitlement.state import Desired, Entitlement, Upcoming
from domain.entitlement.timeline import come_by, moved, planned, shifted, thawed
from domain.errors import InvalidRequestError
from domain.event import Instant


def settled(entitlement: Entitlement, command: Settle) -> DesiredChanged:
    """Return what the settlement makes of it, at once or when its time comes."""
    base = _as_of(entitlement, command.settled_at)
    if command.effective_at is None or not _is_last(base, command.settled_at):
        return _at_once(base, command)
    return _put_off(base, command, command.effective_at)


def _at_once(base: Entitlement, command: Settle) -> DesiredChanged:
    # What is to come and was paid earlier goes into this; paid later, it still comes.
    at = command.settled_at
    later = tuple(it for it in base.upcoming if it.paid_at > at)
    earlier = tuple(it for it in base.upcoming if it.paid_at <= at)
    before = planned(replace(base, upcoming=earlier))
    desired = _desired_after(base, before, command, from_=at, kept=command.kept)
    return _changed(
        base,
        desired,
        order=command.order,
        paid_at=_latest(base.paid_at, at),
        upcoming=moved(later, timedelta(days=command.line.days or 0)),
    )


def _put_off(
    base: Entitlement, command: Settle, effective_at: Instant
) -> DesiredChanged:
    coming = Upcoming(
        version=base.desired_version + 1,
        desired=_desired_after(base, planned(base), command, from_=effective_at),
        effective_at=effective_at,
        paid_at=command.settled_at,
    )
    # Whoever has nothing yet is owed nothing before that.
    nothing = replace(
        coming.desired,
        ends_at=command.settled_at,
        grace_seconds=0,
        reset_traffic=False,
    )
    return _changed(
        base,
        nothing if base.desired is None else base.desired,
        order=command.order,
        paid_at=base.paid_at or command.settled_at,
        upcoming=(*base.upcoming, coming),
    )


def _desired_after(
    base: Entitlement,
    before: Desired | None,
    command: Settle,
    *,
    from_: Instant,
    kept: frozenset[str] = frozenset(),
) -> Desired:
    line = command.line
    is_last = _is_last(base, command.settled_at)
    limits = before
    if limits is None or is_last:
        limits = Desired(
            ends_at=command.settled_at,
            grace_seconds=line.grace_seconds,
            traffic_bytes=line.traffic_bytes,
            device_limit=line.device_limit,
            squad_ids=line.squad_ids,
        )
        limits = _with(limits, base.desired, kept)
    is_last &= "ends_at" not in kept
    return replace(
        limits,
        ends_at=_end_after(before, command, from_=from_, is_last=is_last),
        reset_traffic=line.reset_traffic or command.carried_reset,
    )


def _end_after(
    before: Desired | None, command: Settle, *, from_: Instant, is_last: bool
) -> Instant:
    line = command.line
    if line.ends_at is not None:
        # A settlement that was paid earlier but decided later never shortens.
        return (
            line.ends_at
            if before is None or is_last
            else max(before.ends_at, line.ends_at)
        )
    start = from_ if before is None else max(before.ends_at, from_)
    return shifted(start, timedelta(days=line.days or 0))


def added(entitlement: Entitlement, command: AddOn) -> DesiredChanged:
    """Return what the add-on makes of what is in force."""
    base = _as_of(entitlement, command.at)
    before = _desired(base)
    is_last = _is_last(base, command.settled_at)
    after = before
    if is_last:
        after = _with(_given(before, command), before, command.kept)
    if command.ends_at is not UNSET:
        ends_at = command.ends_at
        is_last &= "ends_at" not in command.kept
        after = replace(
            after, ends_at=ends_at if is_last else max(before.ends_at, ends_at)
        )
    elif command.days is not UNSET:
        start = max(before.ends_at, command.settled_at)
        after = replace(after, ends_at=shifted(start, timedelta(days=command.days)))
    return _changed(
        base,
        replace(after, reset_traffic=False),
        order=command.order,
        paid_at=_latest(base.paid_at, command.settled_at),
        upcoming=moved(base.upcoming, after.ends_at - before.ends_at),
    )


def adjusted(entitlement: Entitlement, command: Adjust) -> DesiredChanged:
    """Return what an operator makes of what is in force.

    Raises:
        InvalidRequestError: the new end is no later than the present one.
    """
    # A reset pushes nothing else, so nothing else may change.
    base = entitlement if command.reset_traffic else _as_of(entitlement, command.at)
    before = _desired(base)
    after = _given(before, command)
    if command.ends_at is not UNSET:
        if command.ends_at <= before.ends_at:
            rule = f"later than the present end, {before.ends_at.isoformat()}"
            code = "ends_at_not_later"
            raise InvalidRequestError(code, "endsAt", rule)
        after = replace(after, ends_at=command.ends_at)
    return _changed(
        base,
        replace(after, reset_traffic=command.reset_traffic),
        order=None,
        paid_at=base.paid_at or command.at,
        upcoming=moved(base.upcoming, after.ends_at - before.ends_at),
    )


def _with(desired: Desired, before: Desired | None, names: frozenset[str]) -> Desired:
    """Return the desired state with the limits of these names as they were before."""
    if before is None:
        return desired
    then = msgspec.structs.asdict(before)
    return replace(desired, **{name: then[name] for name in names & _LIMITS})


def _given(desired: Desired, given: Given) -> Desired:
    """Return the desired state with the limits that are named."""
    named = {
        name: value
        for name, value in msgspec.structs.asdict(given).items()
        if name in _LIMITS and value is not UNSET
    }
    return replace(desired, **named)


_LIMITS = frozenset({"grace_seconds", "traffic_bytes", "device_limit", "squad_ids"})


def _as_of(entitlement: Entitlement, at: Instant) -> Entitlement:
    return thawed(come_by(entitlement, at), at)


def _desired(base: Entitlement) -> Desired:
    if base.desired is None:
        msg = "an entitlement is live without a desired state"
        raise AssertionError(msg)
    return base.desired


def _changed(
    base: Entitlement,
    desired: Desired,
    *,
    order: UUID | None,
    paid_at: Instant,
    upcoming: tuple[Upcoming, ...],
) -> DesiredChanged:
    return DesiredChanged(
        desired_version=base.desired_version + 1,
        desired=desired,
        paid_at=paid_at,
        order=order,
        upcoming=upcoming,
        paused_at=base.paused_at,
    )


def _is_last(base: Entitlement, settled_at: Instant) -> bool:
    return base.paid_at is None or settled_at >= base.paid_at


def _latest(first: Instant | None, second: Instant) -> Instant:
    return second if first is None else max(first, second)
