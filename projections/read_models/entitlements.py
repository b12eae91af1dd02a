"""Entitlements: what each customer is owed, and what the panel showed last.

A row knows no clock: what was settled for later is told beside what is in force, with
the instant from which it counts.
"""

from collections.abc import Collection
from datetime import UTC
from typing import ClassVar, override
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from domain.entitlement.events import (
    DesiredChanged,
    Disabled,
    DriftDetected,
    DriftResolved,
    Enabled,
    Granted,
    Paused,
    Resumed,
    Seen,
)
from domain.entitlement.state import Observed, Upcoming
from domain.event import Event, Instant
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection


class EntitlementRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One entitlement."""

    stream_id: UUID
    tenant_id: str
    customer_id: str
    slot: int
    username: str
    state: str = "live"
    """`paused`, else `disabled`, else `live`; see `enables_at`."""
    paused_at: Instant | None = None
    """Since when the pause is not yet added to the end."""
    disabled_version: int | None = None
    """The desired version that disabled the access; a pause may hide it."""
    enables_at: Instant | None = None
    """When what was settled for later ends the disabling."""
    desired_version: int = 0
    ends_at: Instant | None = None
    """End of what was in force at the last change, before any grace."""
    planned_ends_at: Instant | None = None
    """End of everything that is settled, with what is still to come."""
    changes_at: Instant | None = None
    """When the first of what was settled for later comes, or has come."""
    grace_seconds: int = 0
    traffic_bytes: int | None = None
    """None: unlimited."""
    device_limit: int | None = None
    """None: unlimited."""
    squads: int = 0
    """How many squads the customer is to be in."""
    panel_user_id: int | None = None
    """What follows is the panel's, as it answered last; None: never seen."""
    observed_status: str | None = None
    observed_expire_at: Instant | None = None
    observed_traffic_bytes: int | None = None
    """0: unlimited."""
    observed_device_limit: int | None = None
    observed_squads: int | None = None
    observed_at: Instant | None = None
    """When it showed that for the first time."""
    drifts: dict[str, object]
    """The kinds that are open: of each, since when (RFC 3339)."""
    correlation_id: str
    created_at: Instant
    updated_at: Instant


class Entitlements(Projection[EntitlementRow]):
    """One row for each customer's access."""

    name: ClassVar[str] = "entitlements"
    row = EntitlementRow
    key: ClassVar[tuple[str, ...]] = ("stream_id",)
    events: ClassVar[Collection[type[Event]]] = (
        Granted,
        DesiredChanged,
        Paused,
        Resumed,
        Disabled,
        Enabled,
        Seen,
        DriftDetected,
        DriftResolved,
    )

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        return ((recorded.stream_id,),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        return isinstance(recorded.event, Granted)

    @override
    def fold(
        self, key: Key, row: EntitlementRow | None, recorded: RecordedEvent
    ) -> EntitlementRow | None:
        event, at = recorded.event, recorded.recorded_at
        if isinstance(event, Granted):
            return _granted(event, recorded)
        if row is None:
            return None
        row = replace(row, updated_at=at)
        match event:
            case DesiredChanged() | Resumed():
                return _standing(_owed(row, event))
            case Paused(desired_version=version, paused_at=since):
                return _standing(replace(row, desired_version=version, paused_at=since))
            case Disabled(desired_version=version):
                # Whatever is to come was settled before: it does not end this one.
                disabled = replace(row, disabled_version=version, enables_at=None)
                return _standing(replace(disabled, desired_version=version))
            case Enabled(desired_version=version):
                enabled = replace(row, disabled_version=None, enables_at=None)
                return _standing(replace(enabled, desired_version=version))
            case Seen(observed=observed):
                return _seen(row, observed, at)
            case DriftDetected(kind=kind):
                opened = row.drifts.get(kind, at.astimezone(UTC).isoformat())
                return replace(row, drifts={**row.drifts, kind: opened})
            case DriftResolved(kind=kind):
                others = {k: it for k, it in row.drifts.items() if k != kind}
                return replace(row, drifts=others)
            case _:
                return row


def _granted(event: Granted, recorded: RecordedEvent) -> EntitlementRow:
    return EntitlementRow(
        stream_id=recorded.stream_id,
        tenant_id=recorded.tenant_id,
        customer_id=event.customer_id,
        slot=event.slot,
        username=event.username,
        drifts={},
        correlation_id=recorded.meta.correlation_id,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
    )


def _owed(row: EntitlementRow, event: DesiredChanged | Resumed) -> EntitlementRow:
    desired, upcoming = event.desired, event.upcoming
    planned = upcoming[-1].desired if upcoming else desired
    return replace(
        row,
        desired_version=event.desired_version,
        paused_at=event.paused_at if isinstance(event, DesiredChanged) else None,
        ends_at=desired.ends_at,
        planned_ends_at=planned.ends_at,
        changes_at=min((it.effective_at for it in upcoming), default=None),
        enables_at=_enables_at(row.disabled_version, upcoming),
        grace_seconds=desired.grace_seconds,
        traffic_bytes=desired.traffic_bytes,
        device_limit=desired.device_limit,
        squads=len(desired.squad_ids),
    )


def _enables_at(disabled: int | None, upcoming: tuple[Upcoming, ...]) -> Instant | None:
    """Return when the first settlement comes that was paid after the disabling."""
    if disabled is None:
        return None
    coming = (it.effective_at for it in upcoming if it.version > disabled)
    return min(coming, default=None)


def _standing(row: EntitlementRow) -> EntitlementRow:
    if row.paused_at is not None:
        return replace(row, state="paused")
    return replace(row, state="live" if row.disabled_version is None else "disabled")


def _seen(row: EntitlementRow, observed: Observed, at: Instant) -> EntitlementRow:
    return replace(
        row,
        panel_user_id=observed.panel_user_id,
        observed_status=observed.status,
        observed_expire_at=observed.expire_at,
        observed_traffic_bytes=observed.traffic_limit_bytes,
        observed_device_limit=observed.device_limit,
        observed_squads=observed.squads,
        observed_at=at,
    )
