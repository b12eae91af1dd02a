"""Values that no entry was made for: each is refused by name, or does no harm."""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from uuid import UUID

import msgspec

MEGABYTE = 1_000_000


class Number(IntEnum):
    ONE = 1


class Struct(msgspec.Struct):
    number: float = math.nan


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


def within_itself() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


def at(hours: int, *when: int) -> datetime:
    return datetime(*when, tzinfo=timezone(timedelta(hours=hours)))  # type: ignore[arg-type,misc]


OBJECTS: dict[str, object] = {
    "no number": math.nan,
    "endless": -math.inf,
    "400 digits": 10**400,
    "100,000 digits": 10**100_000,
    "a large float": 1e16,
    "a larger float": 1.5e300,
    "a fraction": 0.5,
    "less than nothing": -1,
    "a decimal": Decimal("1.5"),
    "no decimal": Decimal("NaN"),
    "NUL": "\x00",
    "half a letter": "\ud800",
    "bytes": b"\xff",
    "a set": {1},
    "deep": nested(10_000),
    "cyclic": within_itself(),
    "naive": datetime(2030, 1, 1),  # noqa: DTZ001 - on purpose
    "before time": at(14, 1, 1, 1),
    "after time": at(-14, 9999, 12, 31, 23),
    "year 9999": datetime(9999, 12, 31, tzinfo=UTC),
    "a date": date(2030, 1, 1),
    "a span": timedelta(1),
    "an enum": Number.ONE,
    "an id": UUID(int=0),
    "a function": nested,
    "a tuple": (1, 2),
    "a name that is a number": {1: 2},
    "a name of NUL": {"\x00": 1},
    "half a letter as a name": {"\ud800": 1},
    "the same name twice": {"1": 1, 1: 2},
    "a megabyte": "x" * MEGABYTE,
    "a megabyte of a name": {"x" * MEGABYTE: 1},
    "a struct": Struct(),
}
"""What a program in Python may hand over."""

TEXTS: dict[str, str] = {
    "empty": "",
    "blank": "  ",
    "no UTF-8": "\udcff",
    "half a letter": "\ud800",
    "four bytes": "🎁🎁🎁",
    "turned around": "\u202eabc\u202c",
    "right to left": "\u200f\u05e9\u05dc\u05d5\u05dd",
    "drives a terminal": "\x1b]0;x\x07\x9b31mabc",
    "two lines": "two\nlines",
    "a megabyte": "x" * MEGABYTE,
    "deep": "[" * 10_000,
    "no number": "NaN",
    "endless": "Infinity",
    "large": "1e400",
    "5,000 digits": "9" * 5_000,
    "too large by one": str(2**63),
    "less than nothing": "-1",
    "a fraction": "1.5",
    "Arabic digits": "١٢",
    "with an underscore": "1_000",
    "year 0": "0000-01-01T00:00:00Z",
    "year 9999": "9999-12-31T23:59:59Z",
    "before time": "-infinity",
    "markup": "[red]x[/red][/foo]",
    "a placeholder": "{a} %s %(x)s",
    "the end of a statement": "'; DROP SCHEMA counterfoil CASCADE; --",
    "an id of nothing": "00000000-0000-0000-0000-000000000000",
    "an id in another form": "urn:uuid:01a229c8-15d6-7b9a-a414-da3f4ad17f77",
    "nobody": "customer:",
    "a slot without end": "customer:c:99999999999999999999",
}
"""What a command line may be given; NUL ends an argument before it comes to us."""

JSON: dict[str, str] = {
    "large": "1e400",
    "large and negative": "-1e400",
    "a fraction": "1.5",
    "less than nothing": "-1",
    "400 digits": "9" * 400,
    "5,000 digits": "9" * 5_000,
    "a rounded amount": "12345678901234567.0",
    "no number": "NaN",
    "endless": "-Infinity",
    "NUL": '"\\u0000"',
    "half a letter": '"\\ud800"',
    "turned around": '"\\u202eabc"',
    "a megabyte": f'"{"x" * MEGABYTE}"',
    "deep": "[" * 10_000 + "]" * 10_000,
    "deep objects": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "the same name twice": '{"a": 1, "a": 2}',
    "no UTF-8": '"\udcff"',
    "no text at all": "\udcff\udcfe",
    "cut off": '{"a": ',
    "year 0": '"0000-01-01T00:00:00Z"',
    "after time": '"infinity"',
}
"""What a line of a file may hold in the place of a member."""


def paths(value: object, path: str = "") -> Iterator[str]:
    """Yield the path of every member of a request."""
    if isinstance(value, dict):
        for name, member in value.items():
            where = f"{path}.{name}" if path else str(name)
            yield where
            yield from paths(member, where)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield f"{path}[{index}]"
            yield from paths(member, f"{path}[{index}]")


def replaced(value: object, path: str, by: object, here: str = "") -> object:
    """Return `value` with the member at `path` replaced; `by` is never looked into."""
    if here == path:
        return by
    if isinstance(value, dict):
        return {
            name: replaced(member, path, by, f"{here}.{name}" if here else str(name))
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [
            replaced(member, path, by, f"{here}[{index}]")
            for index, member in enumerate(value)
        ]
    return value
