"""This machine's clock, by which a date of Retry-After is read where none is told."""

from collections.abc import Callable
from datetime import UTC, datetime

type Now = Callable[[], datetime]


def utc_now() -> datetime:
    """Return this machine's time; no schedule depends on it."""
    return datetime.now(UTC)
