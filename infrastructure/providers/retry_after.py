"""How long a provider asks to be left alone: the header Retry-After."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_SECONDS: Final = re.compile(r"\d{1,9}", re.ASCII)


def retry_after_seconds(
    value: str | None, now: datetime, longest: float
) -> float | None:
    """Return the seconds that a Retry-After asks for, at most `longest`; or None."""
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), longest)
    until = moment(text)
    if until is None:
        return None
    return min(max((until - now).total_seconds(), 0.0), longest)


def moment(text: str | None) -> datetime | None:
    """Return the instant that a date of HTTP means; None: it is no date with a zone."""
    try:
        told = parsedate_to_datetime(text or "")
        return None if told.tzinfo is None else told.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
