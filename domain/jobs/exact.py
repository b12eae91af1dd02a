"""Outcomes of built-in values alone, so that nobody's code runs in other threads.

A text or an instant of a handler's own make may run anything whenever it is looked at,
and those who record outcomes serve every job of a process.
"""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from domain.jobs.outcome import Outcome
from domain.stream import Change

_LONGEST_TEXT: Final = 10_000
"""More than is ever stored of a code or an error, however it is cleaned."""


def exact(outcome: Outcome, members: msgspec.Struct) -> Outcome:
    """Return `outcome` with its `members`, which have the right types, made exact.

    A result stays as it is: it has to be read and written as JSON anyway.

    Raises:
        TypeError: `changes` is no tuple of changes.
        ValueError: an instant has a zone of somebody's make that tells no offset.
        OverflowError: an instant lies outside of the years 1 to 9999.
    """
    changes = outcome.changes
    if type(changes) is not tuple or any(type(it) is not Change for it in changes):
        msg = "changes: a tuple of the product's own; leave it out"
        raise TypeError(msg)
    told = msgspec.structs.asdict(members)
    plain = {name: _exact(value) for name, value in told.items() if name != "result"}
    return msgspec.structs.replace(outcome, **plain)


def _exact(value: Any) -> Any:  # noqa: ANN401 - one of the types that outcomes have
    if isinstance(value, str):
        # The method of the class itself: a subclass may have one of its own.
        return str.__getitem__(value, slice(_LONGEST_TEXT))
    if isinstance(value, datetime):
        return _instant(value)
    return value


def _instant(told: datetime) -> datetime:
    """Return the instant in UTC, by the class that everybody knows."""
    day = (told.year, told.month, told.day)
    time = (told.hour, told.minute, told.second, told.microsecond)
    return datetime(*day, *time, tzinfo=told.tzinfo, fold=told.fold).astimezone(UTC)
