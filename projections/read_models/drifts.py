"""Drifts: in what the panel differed from what was owed, open and repaired.

(none) ── detected ──► open ── resolved ──► resolved
                       │  ▲                    │
             detected ─┘  └──── detected ──────┘ the next episode

Whose access it is, is looked up beside it: it is told where it was granted.
"""

from collections.abc import Collection
from typing import ClassVar, override
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from domain.entitlement.events import DriftDetected, DriftResolved
from domain.entitlement.state import Told
from domain.event import Event, Instant
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection


class DriftRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One kind of drift of one entitlement, over all its episodes."""

    stream_id: UUID
    """The entitlement's."""
    kind: str
    tenant_id: str
    state: str
    """`open` or `resolved`."""
    expected: dict[str, object]
    """What was owed, of the last time that it was seen: always `{"exists": …}` or
    `{"value": …}`."""
    observed: dict[str, object]
    episodes: int
    """How often it was opened."""
    position: int
    """Of the event that opened the last episode; lists are ordered by it."""
    detected_at: Instant
    """When the last episode began."""
    refreshed_at: Instant
    """When it was seen last, in a form that differs from the one before."""
    resolved_at: Instant | None = None
    correlation_id: str
    """Of whatever saw it last."""
    created_at: Instant
    """When the first episode began."""
    updated_at: Instant


class Drifts(Projection[DriftRow]):
    """One row for each entitlement and kind that ever differed."""

    name: ClassVar[str] = "drifts"
    row = DriftRow
    key: ClassVar[tuple[str, ...]] = ("stream_id", "kind")
    events: ClassVar[Collection[type[Event]]] = (DriftDetected, DriftResolved)

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        event = recorded.event
        if isinstance(event, DriftDetected | DriftResolved):
            return ((recorded.stream_id, event.kind),)
        return ()

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        # The kind may have been there before.
        return False

    @override
    def fold(
        self, key: Key, row: DriftRow | None, recorded: RecordedEvent
    ) -> DriftRow | None:
        event, at = recorded.event, recorded.recorded_at
        match event:
            case DriftDetected():
                return _detected(row, event, recorded)
            case DriftResolved() if row is not None:
                return replace(row, state="resolved", resolved_at=at, updated_at=at)
            case _:
                return row


def _detected(
    row: DriftRow | None, event: DriftDetected, recorded: RecordedEvent
) -> DriftRow:
    at = recorded.recorded_at
    is_refreshed = row is not None and row.state == "open"
    return DriftRow(
        stream_id=recorded.stream_id,
        kind=event.kind,
        tenant_id=recorded.tenant_id,
        state="open",
        expected=_object(event.expected),
        observed=_object(event.observed),
        episodes=(row.episodes if row else 0) + (0 if is_refreshed else 1),
        position=row.position if row and is_refreshed else recorded.position,
        detected_at=row.detected_at if row and is_refreshed else at,
        refreshed_at=at,
        correlation_id=recorded.meta.correlation_id,
        created_at=row.created_at if row else at,
        updated_at=at,
    )


def _object(told: Told) -> dict[str, object]:
    """Return one side of a drift in one form: statuses and squads are bare."""
    match told:
        case dict():
            return dict(told)
        case tuple():
            return {"value": list(told)}
        case _:
            return {"value": told}
