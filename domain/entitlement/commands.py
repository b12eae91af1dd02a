"""What can be asked of one entitlement.

Every command but `Observe`, `Detect` and `Resolve` moves the desired version by one,
and asks for exactly one operation in the same transaction.
"""

from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from domain.entitlement.state import Drift, Observed
from domain.event import Instant

STANDING: Final = "standing"
"""Beside the members of a desired state, what a person may have the last word on."""


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
    effective_at: Instant | None = None
    """Later than `settled_at`: what is in force stays until then."""
    line: AccessLine
    customer_id: str
    slot: int
    username: str
    legacy_username: str | None
    carried_reset: bool = False
    """An earlier operation that has not succeeded asked for a traffic reset."""
    kept: frozenset[str] = frozenset()
    """What a person has changed since it was paid: that stays as it is."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What a change names; what it does not name stays as it is."""

    ends_at: Instant | UnsetType = UNSET
    grace_seconds: int | UnsetType = UNSET
    traffic_bytes: int | UnsetType | None = UNSET
    device_limit: int | UnsetType | None = UNSET
    squad_ids: tuple[str, ...] | UnsetType = UNSET


class AddOn(Given, frozen=True, kw_only=True):
    """Change what is in force as a paid add-on says."""

    order: UUID
    settled_at: Instant
    at: Instant
    """Now: what has come until then is in force, and is changed."""
    days: int | UnsetType = UNSET
    """Added to the present end; never together with `ends_at`."""
    kept: frozenset[str] = frozenset()
    """What a person has changed since it was paid: that stays as it is."""


class Adjust(Given, frozen=True, kw_only=True):
    """Change what is in force on an operator's word."""

    at: Instant
    reset_traffic: bool = False


class Pause(msgspec.Struct, frozen=True):
    """Let the access rest; its time does not run meanwhile."""

    at: Instant


class Resume(msgspec.Struct, frozen=True):
    """End the pause and give its time back."""

    at: Instant


class Disable(msgspec.Struct, frozen=True):
    """End the access before its time."""


class Enable(msgspec.Struct, frozen=True):
    """Take the word back that disabled the access."""


class Observe(msgspec.Struct, frozen=True):
    """Record what the panel showed after an operation."""

    observed: Observed


class Detect(msgspec.Struct, frozen=True):
    """Record in what the panel differs, before it is repaired."""

    drifts: tuple[Drift, ...]


class Resolve(msgspec.Struct, frozen=True):
    """Record which kinds of drift an operation's success has ended."""

    kinds: tuple[str, ...]


type EntitlementCommand = (
    Settle
    | AddOn
    | Adjust
    | Pause
    | Resume
    | Disable
    | Enable
    | Observe
    | Detect
    | Resolve
)
