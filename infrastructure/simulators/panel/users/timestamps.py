"""The panel's timestamps: ISO-8601 text in, milliseconds since 1970 (UTC) out and back.

Precision is cut to milliseconds, never rounded, and text without an offset is
UTC, which is the panel's local time (remnawave.md 3, "expireAt precision").
"""

import re
import time
from datetime import datetime, timedelta
from typing import Final

MS_PER_DAY: Final = 86_400_000

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - naive arithmetic, always UTC
_MS: Final = timedelta(milliseconds=1)
_PATTERN: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d+))?)?"
    r"(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))?",
    re.ASCII,
)


def current_ms() -> int:
    """Return the machine's clock in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def parse_timestamp(text: str) -> int | None:
    """Return the instant in milliseconds, or None when the panel refuses the text."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, *offset = match.groups()
    ms = int(f"{fraction or ''}000"[:3])
    ahead = timedelta()
    if sign:
        ahead = timedelta(hours=int(offset[0]), minutes=int(offset[1]))
    try:
        local = datetime(  # noqa: DTZ001 - the offset is taken off by hand
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0)
        )
        instant = local + ahead if sign == "-" else local - ahead
    except (ValueError, OverflowError):
        return None
    return (instant - _EPOCH) // _MS + ms


def format_timestamp(ms: int) -> str:
    """Return the instant as the panel writes it: `YYYY-MM-DDTHH:MM:SS.mmmZ`.

    Raises:
        OverflowError: the instant lies beyond the year 9999.
    """
    return (_EPOCH + ms * _MS).isoformat(timespec="milliseconds") + "Z"


def format_optional(ms: int | None) -> str | None:
    """Return the instant as text, None staying None."""
    return None if ms is None else format_timestamp(ms)
