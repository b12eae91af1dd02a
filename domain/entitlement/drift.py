"""In which ways the panel shows something else than what is owed; six kinds.

missing_remote   nobody has the user                     nothing else is compared
expiry           to the millisecond, as the panel keeps it
traffic          0 on both sides: unlimited
device_limit     0 on both sides: unlimited; null is the panel's own fallback
squads           as sets
status           off: DISABLED or EXPIRED; on: ACTIVE, LIMITED, or EXPIRED in its time
"""

from datetime import UTC, datetime
from typing import Final

from domain.entitlement.state import (
    Desired,
    Drift,
    Sight,
    Told,
    truncated_to_ms,
)
from domain.entitlement.timeline import Standing
from domain.event import Instant

MISSING_REMOTE: Final = "missing_remote"
EXPIRY: Final = "expiry"
TRAFFIC: Final = "traffic"
DEVICE_LIMIT: Final = "device_limit"
SQUADS: Final = "squads"
STATUS: Final = "status"

KINDS: Final = (MISSING_REMOTE, EXPIRY, TRAFFIC, DEVICE_LIMIT, SQUADS, STATUS)

_STATUSES: Final = {
    "ACTIVE": "active",
    "LIMITED": "limited",
    "DISABLED": "disabled",
    "EXPIRED": "expired",
}
_UNKNOWN_STATUS: Final = "failed"


def differences(
    desired: Desired, standing: Standing, sight: Sight | None, now: Instant
) -> tuple[Drift, ...]:
    """Return how what was seen differs from what is owed; None: nobody has the user."""
    if sight is None:
        return (Drift(MISSING_REMOTE, {"exists": True}, {"exists": False}),)
    return tuple(
        Drift(kind, expected, observed)
        for kind, expected, observed, differs in _compared(
            desired, standing, sight, now
        )
        if differs
    )


def _compared(
    desired: Desired, standing: Standing, sight: Sight, now: Instant
) -> tuple[tuple[str, Told, Told, bool], ...]:
    seen = sight.observed
    expiry = (desired.remote_expire_at, truncated_to_ms(seen.expire_at))
    traffic = (desired.traffic_bytes or 0, seen.traffic_limit_bytes)
    devices = (desired.device_limit or 0, seen.device_limit)
    squads = (_sorted(desired.squad_ids), _sorted(sight.squad_ids))
    status = _STATUSES.get(seen.status.upper(), _UNKNOWN_STATUS)
    fine = _fine(standing, has_ended=desired.remote_expire_at <= now)
    return (
        (EXPIRY, _value(_told(expiry[0])), _value(_told(expiry[1])), _differ(expiry)),
        (TRAFFIC, _value(traffic[0]), _value(traffic[1]), _differ(traffic)),
        (DEVICE_LIMIT, _value(devices[0]), _value(devices[1]), _differ(devices)),
        (SQUADS, squads[0], squads[1], _differ(squads)),
        (STATUS, standing.value, status, status not in fine),
    )


def _fine(standing: Standing, *, has_ended: bool) -> frozenset[str]:
    """Return the statuses that a user may show."""
    if standing.is_off:
        return frozenset({"disabled", "expired"})
    shown = {"active", "limited"}
    return frozenset(shown | {"expired"} if has_ended else shown)


def _differ(sides: tuple[object, object]) -> bool:
    return sides[0] != sides[1]


def _value(value: int | str | None) -> Told:
    return {"value": value}


def _sorted(squads: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({squad.lower() for squad in squads}))


def _told(instant: datetime) -> str:
    told = instant.astimezone(UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")
