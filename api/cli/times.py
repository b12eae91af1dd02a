"""Instants as a person reads them."""

from datetime import datetime

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def at(instant: datetime) -> str:
    """Return an instant in UTC to the millisecond."""
    return f"{instant:%Y-%m-%d %H:%M:%S}.{instant.microsecond // 1000:03d}Z"


def distance(instant: datetime, now: datetime) -> str:
    """Return how far `instant` is from `now`: `in 12 s` or `3 min ago`."""
    seconds = (instant - now).total_seconds()
    told = lasting(abs(seconds))
    return f"in {told}" if seconds > 0 else f"{told} ago"


def lasting(seconds: float) -> str:
    """Return how long something lasts: `12 s`, `3 min`."""
    # Two units' worth before the next unit, so that no half of what matters is lost.
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < 2 * _DAY:
        return f"{seconds / _HOUR:.0f} h"
    return f"{seconds / _DAY:.0f} days"
