"""Values of a filter, from text: what a field of each type is compared with.

Bounds of terms are at least and below; the other two are the next value's, which
integers and instants (by the microsecond) have.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from domain.text import is_storable
from projections.queries.grammar.clauses import Sign
from projections.queries.terms import Bound, Scalar

type Type = Literal["text", "uuid", "integer", "bigint", "boolean", "instant", "age"]

RULES: Final[dict[Type, str]] = {
    "text": "is a text",
    "uuid": "is an id",
    "integer": "is a whole number of 32 bits",
    "bigint": "is a whole number of 64 bits",
    "boolean": "is true or false",
    "instant": "is an instant: 2026-11-30, or 2026-11-30T12:00:00Z",
    "age": "is an age: 90s, 30m, 12h or 7d",
}
"""How values are written."""

_NEXT: Final = timedelta(microseconds=1)
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_AGE: Final = re.compile(r"([0-9]{1,10})([smhd])")
_MOST_AGE: Final = timedelta(days=36_500)
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT: Final = re.compile(
    _DAY.pattern + r"[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BITS: Final[dict[Type, int]] = {"integer": 31, "bigint": 63}


def scalar(text: str, type_: Type, prefix: str) -> Scalar:
    """Return what a field is compared with; ids may begin with their prefix.

    Raises:
        ValueError: the text is no such value.
    """
    match type_:
        case "text":
            return _plain(text)
        case "uuid":
            return _id(text.removeprefix(prefix))
        case "boolean":
            return _boolean(text)
        case "integer" | "bigint":
            return _number(text, type_)
        case "instant" | "age":
            raise ValueError(text)


def bound(text: str, type_: Type) -> Bound:
    """Return what a field is bounded by.

    Raises:
        ValueError: the text is none, or a field of that type takes none.
    """
    match type_:
        case "integer" | "bigint":
            return _number(text, type_)
        case "instant":
            return _instant(text)
        case "age":
            return _age(text)
        case "text" | "uuid" | "boolean":
            raise ValueError(text)


def sides(value: Bound, sign: Sign) -> tuple[Bound | None, Bound | None]:
    """Return what the column is at least, and below; None: whatever.

    Who is older began before: an age is bounded the other way round.

    Raises:
        OverflowError: nothing is beyond the bound.
    """
    if isinstance(value, timedelta):
        match sign:
            case ">=":
                return None, value - _NEXT
            case ">":
                return None, value
            case "<=":
                return value, None
            case _:
                return value - _NEXT, None
    match sign:
        case ">=":
            return value, None
        case ">":
            return _after(value), None
        case "<=":
            return None, _after(value)
        case _:
            return None, value


def _after(value: datetime | int) -> datetime | int:
    return value + _NEXT if isinstance(value, datetime) else value + 1


def _plain(text: str) -> str:
    if not is_storable(text):
        raise ValueError(text)
    return text


def _id(text: str) -> UUID:
    if not _ID.fullmatch(text):
        raise ValueError(text)
    return UUID(text)


def _boolean(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(text)
    return text == "true"


def _number(text: str, type_: Type) -> int:
    most = (1 << _BITS[type_]) - 1
    # The one beyond it is a value, too: of what is above this one.
    if not _NUMBER.fullmatch(text) or not -most <= int(text) < most:
        raise ValueError(text)
    return int(text)


def _instant(text: str) -> datetime:
    if _DAY.fullmatch(text):
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    if not _INSTANT.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text.upper()).astimezone(UTC)


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else -1
    if not 0 <= seconds <= _MOST_AGE.total_seconds():
        raise ValueError(text)
    return timedelta(seconds=seconds)
