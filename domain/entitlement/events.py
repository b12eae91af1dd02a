"""Facts about one entitlement (a storage contract, see domain.event)."""

from typing import ClassVar
from uuid import UUID

from domain.entitlement.state import Desired, Observed
from domain.event import Event, Instant


class Granted(Event, frozen=True, kw_only=True):
    """A customer has access for the first time; names are computed once, here."""

    tag: ClassVar[str] = "entitlement.granted"
    customer_id: str
    slot: int
    username: str
    legacy_username: str | None
    """Also looked up for adoption: slot 1 of a customer whose id is a UUID."""


class DesiredChanged(Event, frozen=True, kw_only=True):
    """What the panel should show has changed; the version counts from 1."""

    tag: ClassVar[str] = "entitlement.desired_changed"
    desired_version: int
    desired: Desired
    paid_at: Instant
    """Settlement whose limits, squads and grace are in force."""
    order: UUID


class Seen(Event, frozen=True, kw_only=True):
    """The panel showed something else than last time."""

    tag: ClassVar[str] = "entitlement.observed"
    observed: Observed


type EntitlementEvent = Granted | DesiredChanged | Seen
