"""What of an entitlement is in force when, and how its ends move.

   desired ──────────────► upcoming (version 5) ──────► upcoming (version 7) ───►
   in force        effective_at of version 5     effective_at of version 7

A pause stops the clock of access: `thawed` adds to every end that was ahead what
has been paused so far, and lets the pause count from there.  So days that are bought
during a pause are bought in full, and nobody gains by the order of the two.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from msgspec.structs import replace

from domain.entitlement.state import Desired, Entitlement, Upcoming
from domain.event import Instant

LAST_INSTANT = datetime(9999, 1, 1, tzinfo=UTC)
"""The latest end of access: a grace still fits behind it in four-digit years."""


def in_force(entitlement: Entitlement, at: Instant) -> Desired | None:
    """Return what is owed at that instant; None of an entitlement nobody granted."""
    come = _come(entitlement, at)
    return entitlement.desired if come is None else come.desired


class Standing(StrEnum):
    """Whether the customer may use the access at all; words of `status` drifts."""

    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"

    @property
    def is_off(self) -> bool:
        """Whether the panel must show DISABLED."""
        return self is not Standing.ACTIVE


def standing(entitlement: Entitlement, at: Instant) -> Standing:
    """Return whether the access is paused or disabled at that instant.

    A settlement for later that was paid after the disabling ends it when it comes.
    """
    if entitlement.paused_at is not None:
        return Standing.PAUSED
    if come_by(entitlement, at).is_disabled:
        return Standing.DISABLED
    return Standing.ACTIVE


def planned(entitlement: Entitlement) -> Desired | None:
    """Return what will be owed in the end: days always add to this."""
    if entitlement.upcoming:
        return entitlement.upcoming[-1].desired
    return entitlement.desired


def newest(entitlement: Entitlement) -> Upcoming | None:
    """Return what the newest desired version has put off until later, if it has."""
    for upcoming in entitlement.upcoming:
        if upcoming.version == entitlement.desired_version:
            return upcoming
    return None


def come_by(entitlement: Entitlement, at: Instant) -> Entitlement:
    """Return the entitlement with what has come until `at` as its desired state."""
    come = _come(entitlement, at)
    if come is None:
        return entitlement
    disabled = entitlement.disabled_version
    paid_at = entitlement.paid_at
    return replace(
        entitlement,
        desired=come.desired,
        paid_at=come.paid_at if paid_at is None else max(paid_at, come.paid_at),
        # One of a lower version that is still to come has been overtaken for good.
        upcoming=tuple(it for it in entitlement.upcoming if it.version > come.version),
        disabled_version=None if disabled and come.version > disabled else disabled,
    )


def thawed(entitlement: Entitlement, at: Instant) -> Entitlement:
    """Return the entitlement with the pause until `at` added to the ends."""
    since = entitlement.paused_at
    if since is None or entitlement.desired is None or at <= since:
        return entitlement
    return replace(
        entitlement,
        desired=_rested(entitlement.desired, since, at),
        upcoming=tuple(
            replace(it, desired=_rested(it.desired, since, at))
            for it in entitlement.upcoming
        ),
        paused_at=at,
    )


def moved(upcoming: tuple[Upcoming, ...], by: timedelta) -> tuple[Upcoming, ...]:
    """Return what is to come, with every end moved."""
    return tuple(
        replace(
            it, desired=replace(it.desired, ends_at=shifted(it.desired.ends_at, by))
        )
        for it in upcoming
    )


def shifted(instant: Instant, by: timedelta) -> Instant:
    """Return an end moved by a time, never beyond the last possible one."""
    return instant + min(by, max(LAST_INSTANT - instant, timedelta()))


def _come(entitlement: Entitlement, at: Instant) -> Upcoming | None:
    come = [it for it in entitlement.upcoming if it.effective_at <= at]
    return max(come, key=lambda it: it.version, default=None)


def _rested(desired: Desired, since: Instant, at: Instant) -> Desired:
    if desired.ends_at <= since:
        return desired
    return replace(desired, ends_at=shifted(desired.ends_at, at - since))
