"""Facts about one entitlement (a storage contract, see domain.event)."""

from typing import ClassVar
from uuid import UUID

from domain.entitlement.state import Desired, Observed, Told, Upcoming
from domain.event import Event, Instant


class Granted(Event, frozen=True, kw_only=True):
    """A customer has access for the first time; names are computed once, here."""

    tag: ClassVar[str] = "entitlement.granted"
    customer_id: str
    slot: int
    username: str
    legacy_username: str | None
    """Also looked up for adoption: slot 1 of a customer whose id is a UUID."""


class DesiredChanged(Event, frozen=True, kw_only=True, omit_defaults=True):
    """What the panel should show has changed; the version counts from 1."""

    tag: ClassVar[str] = "entitlement.desired_changed"
    desired_version: int
    desired: Desired
    paid_at: Instant
    """Settlement whose limits, squads and grace are in force."""
    order: UUID | None
    """The order that changed it; None: an operator did."""
    upcoming: tuple[Upcoming, ...] = ()
    """All that is still to come after this change."""
    paused_at: Instant | None = None
    """Since when the pause is not yet added to the ends; None: not paused."""


class Paused(Event, frozen=True, kw_only=True):
    """The access rests, and its time with it."""

    tag: ClassVar[str] = "entitlement.paused"
    desired_version: int
    paused_at: Instant


class Resumed(Event, frozen=True, kw_only=True):
    """The access goes on; every end that was ahead has moved by the pause."""

    tag: ClassVar[str] = "entitlement.resumed"
    desired_version: int
    desired: Desired
    upcoming: tuple[Upcoming, ...]


class Disabled(Event, frozen=True, kw_only=True):
    """The access was ended before its time."""

    tag: ClassVar[str] = "entitlement.disabled"
    desired_version: int


class Enabled(Event, frozen=True, kw_only=True):
    """The access is not disabled any more: an operator's word, or a settlement."""

    tag: ClassVar[str] = "entitlement.enabled"
    desired_version: int


class Seen(Event, frozen=True, kw_only=True):
    """The panel showed something else than last time."""

    tag: ClassVar[str] = "entitlement.observed"
    observed: Observed


class DriftDetected(Event, frozen=True, kw_only=True):
    """The panel shows something else than what is owed; opens or refreshes a kind."""

    tag: ClassVar[str] = "entitlement.drift_detected"
    kind: str
    expected: Told
    observed: Told


class DriftResolved(Event, frozen=True, kw_only=True):
    """An operation has succeeded, and the kind does not differ any more."""

    tag: ClassVar[str] = "entitlement.drift_resolved"
    kind: str


type EntitlementEvent = (
    Granted
    | DesiredChanged
    | Paused
    | Resumed
    | Disabled
    | Enabled
    | Seen
    | DriftDetected
    | DriftResolved
)
