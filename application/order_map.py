"""A map: a settlement whose strings name columns, filled in for each order.

 {column}         the column's text
 {row}            the order's number in the file, from 1
 {column:minor}   the column's decimal amount in minor units of the `currency`

A string that is one placeholder of an integer member becomes an integer.  Nothing is
rounded, trimmed or guessed: what does not fit is refused with the member's path.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import msgspec

from application.errors import ApplicationError
from application.order_file import OrderFileError, Orders, Record
from domain.errors import InvalidRequestError
from domain.event import JsonObject
from domain.members import INVALID, invalid, is_list, is_object
from domain.order.currency import to_minor

INTEGERS: Final = frozenset(
    {
        "amountMinor",
        "discountMinor",
        "slot",
        "line",
        "days",
        "graceSeconds",
        "trafficBytes",
        "deviceLimit",
        "quantity",
        "months",
        "costMinor",
        "priceMinor",
    }
)
"""Members of a settlement that are integers, wherever they stand."""

_PLACEHOLDER: Final = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
_INTEGER: Final = re.compile(r"-?[0-9]{1,40}")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,19}(?:[.][0-9]{1,19})?")


class OrderMapError(ApplicationError):
    """The map itself makes no sense, whatever the file holds."""

    code = "unusable_map"

    def __init__(self, path: str, detail: str) -> None:
        """Name the map's member and what is wrong with it."""
        self.path = path
        self.detail = detail
        super().__init__(f"map: {path}: {detail}" if path else f"map: {detail}")


def check_map(template: JsonObject, orders: Orders) -> None:
    """Refuse a map that no line of the file could fill.

    Raises:
        OrderMapError: a placeholder is not closed or asks for an unknown form.
        OrderFileError: the header does not name a column that the map asks for.
    """
    for path, text in _strings(template, ""):
        _check_form(path, text)
        for column, _ in _placeholders(text):
            if orders.columns is None or column in {"row", *orders.columns}:
                continue
            named = ", ".join(orders.columns)
            raise OrderFileError(
                orders.header_line,
                f"the map's {path} asks for column {column!r}, "
                f"but the header names: {named}",
            )


def _check_form(path: str, text: str) -> None:
    if re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        raise OrderMapError(path, f"a brace of {text!r} is not closed or opened")
    for column, form in _placeholders(text):
        if form not in {"", "minor"} or (column, form) == ("row", "minor"):
            told = f"{{{column}:{form}}}"
            raise OrderMapError(path, f"{told} is no form; {{column:minor}} is the one")


def _placeholders(text: str) -> list[tuple[str, str]]:
    return [(found[1], found[2] or "") for found in _PLACEHOLDER.finditer(text)]


def _strings(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every string below `value`."""
    if isinstance(value, str):
        yield path, value
    elif is_list(value):
        for index, member in enumerate(value):
            yield from _strings(member, f"{path}[{index}]")
    elif is_object(value):
        for name, member in value.items():
            yield from _strings(member, _below(path, name))


def fill(template: JsonObject, record: Record) -> JsonObject:
    """Return the settlement of one record.

    Raises:
        InvalidRequestError: a column does not fit its member, with the member's path.
    """
    filler = _Filler(record, "")
    currency = filler.fill(template.get("currency", ""), "currency")
    filler = _Filler(record, currency if isinstance(currency, str) else "")
    return {name: filler.fill(member, name) for name, member in template.items()}


class _Filler(msgspec.Struct, frozen=True):
    """Fills the strings of a map from one record."""

    record: Record
    currency: str

    def fill(self, value: object, path: str) -> object:
        if isinstance(value, str):
            return self._text(value, path)
        if is_list(value):
            return [
                self.fill(member, f"{path}[{index}]")
                for index, member in enumerate(value)
            ]
        if is_object(value):
            return {
                name: self.fill(member, _below(path, name))
                for name, member in value.items()
            }
        return value

    def _text(self, text: str, path: str) -> str | int:
        filled = _PLACEHOLDER.sub(
            lambda found: self._column(found[1], found[2], path), text
        )
        name = re.split(r"[.\[]", path)[-1]
        if name not in INTEGERS or _PLACEHOLDER.fullmatch(text) is None:
            return filled
        if _INTEGER.fullmatch(filled) is None:
            invalid(path, f"an integer, but {text} says {filled[:40]!r}")
        return int(filled)

    def _column(self, column: str, form: str | None, path: str) -> str:
        if column == "row":
            return str(self.record.row)
        if column not in self.record.value:
            invalid(path, f"the line has no column {column!r}")
        told = self.record.value[column]
        if not isinstance(told, str):
            invalid(path, f"column {column!r} holds no text and no number")
        if any("\ud800" <= character <= "\udfff" for character in told):
            invalid(path, f"column {column!r} is no UTF-8 text")
        return told if form is None else str(self._minor(told, column, path))

    def _minor(self, told: str, column: str, path: str) -> int:
        if _DECIMAL.fullmatch(told) is None:
            invalid(path, f"a decimal amount, but column {column!r} says {told[:40]!r}")
        try:
            minor = to_minor(Fraction(told), self.currency)
        except KeyError:
            rule = f"the minor unit of currency {self.currency[:40]!r} is not known"
            raise InvalidRequestError(INVALID, path, rule) from None
        if minor is None:
            invalid(path, f"{told} is no whole number of minor units")
        return minor


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
