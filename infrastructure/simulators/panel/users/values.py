"""What the panel accepts as the value of one field, told as zod tells it.

A parser returns the stored form of a JSON value or raises `Invalid`. Numbers follow
JavaScript: they are doubles, so 2^53 + 1 comes back rounded, and 1.0 is an integer.
"""

import json
import math
import re
from collections.abc import Callable
from types import NoneType
from typing import Final, NoReturn, cast

from infrastructure.simulators.panel.users.timestamps import parse_timestamp

type Number = int | float
type Parser = Callable[[object], object]


class _Undefined:
    """JavaScript's value of an absent member."""


UNDEFINED: Final = _Undefined()

_KINDS: Final[dict[type, str]] = {
    _Undefined: "undefined",
    NoneType: "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
}
_SAFE_INTEGER: Final = 2**53 - 1
_UUID: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    r"|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff",
    re.IGNORECASE,
)
_EMAIL: Final = re.compile(r"[A-Za-z0-9_'+\-.]+@([A-Za-z0-9\-]+\.)+[A-Za-z]{2,}")
_DECIMAL: Final = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE
)
_RADIX: Final = re.compile(r"0(x[0-9a-f]+|o[0-7]+|b[01]+)", re.ASCII | re.IGNORECASE)


class Invalid(Exception):  # noqa: N818 - caught beside its raise, it is a verdict
    """A value that validation refuses: zod's code, its message, further members."""

    def __init__(self, *, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.code: Final = code
        self.message: Final = message
        self.details: Final = details


def read_json(text: str) -> object:
    """Return the document with JavaScript's numbers.

    Raises:
        ValueError: not JSON.
    """
    try:
        return cast(
            "object",
            json.loads(
                text,
                parse_int=read_decimal,
                parse_float=read_decimal,
                parse_constant=_refuse_constant,
            ),
        )
    except RecursionError as error:
        raise ValueError(str(error)) from error


def _refuse_constant(name: str) -> NoReturn:
    msg = f"Unexpected token {name[0]!r}"
    raise ValueError(msg)


def read_decimal(text: str) -> Number:
    """Return the double of a decimal text, an int when it is whole."""
    value = float(text)
    return int(value) if value.is_integer() else value


def coerced(text: str) -> Number:
    """Return JavaScript's `Number(text)`; NaN when it is none."""
    text = text.strip()
    if not text:
        return 0
    if _DECIMAL.fullmatch(text):
        return read_decimal(text)
    if _RADIX.fullmatch(text):
        return int(text, 0)
    return {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}.get(
        text, math.nan
    )


def kind_of(value: object) -> str:
    """Return zod's word for the type of a value."""
    return _KINDS.get(type(value), "object")


def refuse_type(expected: str, value: object) -> NoReturn:
    """Refuse a value of the wrong type.

    Raises:
        Invalid: always.
    """
    message = f"Invalid input: expected {expected}, received {kind_of(value)}"
    raise Invalid(code="invalid_type", message=message, expected=expected)


def string(value: object) -> str:
    """Return the text."""
    if not isinstance(value, str):
        refuse_type("string", value)
    return value


def text(shortest: int, longest: int, pattern: str = r"(?s).*") -> Parser:
    """Return a parser of text of such a length and form."""
    form = re.compile(pattern)

    def parse(value: object) -> str:
        given = string(value)
        if len(given) < shortest:
            message = f"Too small: expected string to have >={shortest} characters"
            raise Invalid(
                code="too_small", message=message, minimum=shortest, inclusive=True
            )
        if len(given) > longest:
            message = f"Too big: expected string to have <={longest} characters"
            raise Invalid(
                code="too_big", message=message, maximum=longest, inclusive=True
            )
        if not form.fullmatch(given):
            message = f"Invalid string: must match pattern /^{pattern}$/"
            raise Invalid(code="invalid_format", message=message, format="regex")
        return given

    return parse


def number(value: object, *, least: Number = -math.inf) -> Number:
    """Return the finite number; a fraction passes, the database refuses it later."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse_type("number", value)
    if not math.isfinite(value):
        refuse_type("number", value)
    if value < least:
        message = f"Too small: expected number to be >={least}"
        raise Invalid(code="too_small", message=message, minimum=least, inclusive=True)
    return value


def not_negative(value: object) -> Number:
    """Return the number of 0 or more."""
    return number(value, least=0)


def whole(value: object, *, least: int = 0) -> int:
    """Return the integer of `least` or more, exact in a double."""
    given = number(value, least=least)
    if not isinstance(given, int):
        refuse_type("int", given)
    if given > _SAFE_INTEGER:
        message = f"Too big: expected int to be <={_SAFE_INTEGER}"
        raise Invalid(
            code="too_big", message=message, maximum=_SAFE_INTEGER, inclusive=True
        )
    return given


def days(value: object) -> int:
    """Return the integer of 1 or more."""
    return whole(value, least=1)


def telegram_id(value: object) -> Number | None:
    """Return the number, 0 as null: that is how the panel answers it."""
    return number(value) or None


def timestamp(value: object) -> int:
    """Return the instant in ms."""
    instant = parse_timestamp(string(value))
    if instant is None:
        raise Invalid(
            code="invalid_format", message="Invalid ISO datetime", format="datetime"
        )
    return instant


def later_than(now: int) -> Parser:
    """Return a parser of instants after `now`."""

    def parse(value: object) -> int:
        instant = timestamp(value)
        if instant <= now:
            raise Invalid(
                code="custom", message="Expiration date cannot be in the past"
            )
        return instant

    return parse


def email(value: object) -> str:
    """Return the address."""
    given = string(value)
    if not _EMAIL.fullmatch(given):
        raise Invalid(
            code="invalid_format", message="Invalid email address", format="email"
        )
    return given


def rfc_uuid(value: object) -> str:
    """Return the RFC 9562 UUID in lower case."""
    given = string(value)
    if not _UUID.fullmatch(given):
        raise Invalid(code="invalid_format", message="Invalid UUID", format="uuid")
    return given.lower()


def uuids(value: object) -> tuple[str, ...]:
    """Return the UUIDs, repeated ones kept."""
    if not isinstance(value, list):
        refuse_type("array", value)
    members: list[object] = value  # pyright: ignore[reportUnknownVariableType] - checked below
    return tuple(rfc_uuid(each) for each in members)


def one_of(*known: str) -> Parser:
    """Return a parser of a closed set of words."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in known:
            options = "|".join(f'"{word}"' for word in known)
            message = f"Invalid option: expected one of {options}"
            raise Invalid(code="invalid_value", message=message, values=list(known))
        return value

    return parse


def nullable(parser: Parser) -> Parser:
    """Return the parser, letting null pass."""
    return lambda value: None if value is None else parser(value)
