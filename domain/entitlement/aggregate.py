"""Decide and evolve: one customer's access to one panel user.

 (unborn) ──Settle──► live ──Settle──► live (desired version + 1)
                       │ ▲
                       └─┘ Observe (only when the panel shows something new)

Days always add, from the later of the present end and the instant of
settlement; limits, squads and grace follow the settlement paid last.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import assert_never
from uuid import UUID

import msgspec

from domain.entitlement.events import DesiredChanged, EntitlementEvent, Granted, Seen
from domain.entitlement.state import Desired, Observed
from domain.errors import IllegalTransitionError
from domain.event import Instant
from domain.stream import State

LAST_INSTANT = datetime(9999, 1, 1, tzinfo=UTC)
"""The latest end of access: a grace still fits behind it in four-digit years."""


class Stage(StrEnum):
    """Where an entitlement is in its life; the stored words."""

    UNBORN = "unborn"
    LIVE = "live"


class Entitlement(State, frozen=True, kw_only=True):
    """What the rules remember of one entitlement; the head's folded columns."""

    stage: Stage = Stage.UNBORN
    customer_id: str = ""
    slot: int = 1
    username: str = ""
    legacy_username: str | None = None
    desired: Desired | None = None
    desired_version: int = 0
    paid_at: Instant | None = None
    observed: Observed | None = None


class AccessLine(msgspec.Struct, frozen=True, kw_only=True):
    """What one settlement says about access; exactly one of days and ends_at."""

    days: int | None
    ends_at: Instant | None
    grace_seconds: int
    traffic_bytes: int | None
    device_limit: int | None
    squad_ids: tuple[str, ...]
    reset_traffic: bool


class Settle(msgspec.Struct, frozen=True, kw_only=True):
    """Apply one paid access line; grants the entitlement when it is the first."""

    order: UUID
    settled_at: Instant
    line: AccessLine
    customer_id: str
    slot: int
    username: str
    legacy_username: str | None
    carried_reset: bool = False
    """An earlier operation that has not succeeded asked for a traffic reset."""


class Observe(msgspec.Struct, frozen=True):
    """Record what the panel showed after an operation."""

    observed: Observed


type EntitlementCommand = Settle | Observe


def decide(
    entitlement: Entitlement, command: EntitlementCommand
) -> tuple[EntitlementEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: an observation of an entitlement that nobody granted.
    """
    match command:
        case Settle():
            return _settle(entitlement, command)
        case Observe():
            if entitlement.stage is Stage.UNBORN:
                raise IllegalTransitionError(
                    entitlement.stage, "observe", stream="entitlement"
                )
            if command.observed == entitlement.observed:
                return ()
            return (Seen(observed=command.observed),)
        case _:
            assert_never(command)


def _settle(entitlement: Entitlement, command: Settle) -> tuple[EntitlementEvent, ...]:
    changed = DesiredChanged(
        desired_version=entitlement.desired_version + 1,
        desired=_desired_after(entitlement, command),
        paid_at=_later(entitlement.paid_at, command.settled_at),
        order=command.order,
    )
    if entitlement.stage is not Stage.UNBORN:
        return (changed,)
    granted = Granted(
        customer_id=command.customer_id,
        slot=command.slot,
        username=command.username,
        legacy_username=command.legacy_username,
    )
    return (granted, changed)


def _desired_after(entitlement: Entitlement, command: Settle) -> Desired:
    line, before = command.line, entitlement.desired
    newest = entitlement.paid_at is None or command.settled_at >= entitlement.paid_at
    if before is None or newest:
        limits = Desired(
            ends_at=command.settled_at,
            grace_seconds=line.grace_seconds,
            traffic_bytes=line.traffic_bytes,
            device_limit=line.device_limit,
            squad_ids=line.squad_ids,
        )
    else:
        limits = before
    return msgspec.structs.replace(
        limits,
        ends_at=_end_after(before, command, newest=newest),
        reset_traffic=line.reset_traffic or command.carried_reset,
    )


def _end_after(before: Desired | None, command: Settle, *, newest: bool) -> Instant:
    line = command.line
    if line.ends_at is not None:
        # A settlement that was paid earlier but decided later never shortens.
        return (
            line.ends_at
            if before is None or newest
            else max(before.ends_at, line.ends_at)
        )
    start = (
        command.settled_at
        if before is None
        else max(before.ends_at, command.settled_at)
    )
    room = LAST_INSTANT - start
    return start + min(timedelta(days=line.days or 0), max(room, timedelta()))


def _later(first: Instant | None, second: Instant) -> Instant:
    return second if first is None else max(first, second)


def evolve(entitlement: Entitlement, event: EntitlementEvent) -> Entitlement:
    """Return the state after `event`.  Total: history is never rejected."""
    replace = msgspec.structs.replace
    entitlement = replace(entitlement, version=entitlement.version + 1)
    match event:
        case Granted():
            return replace(
                entitlement,
                stage=Stage.LIVE,
                customer_id=event.customer_id,
                slot=event.slot,
                username=event.username,
                legacy_username=event.legacy_username,
            )
        case DesiredChanged():
            return replace(
                entitlement,
                desired=event.desired,
                desired_version=event.desired_version,
                paid_at=event.paid_at,
            )
        case Seen():
            return replace(entitlement, observed=event.observed)
        case _:
            assert_never(event)
