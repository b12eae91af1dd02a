"""JSON that PostgreSQL can store: what it would refuse is refused before, by path.

PostgreSQL answers NUL and lone surrogates with 22P02 or 22P05 and no member's name,
after which the caller's transaction is lost.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Final, TypeIs
from uuid import UUID

from domain.errors import InvalidRequestError
from domain.members import INVALID, invalid
from domain.text import clean

type Plain = str | int | float | bool | list["Plain"] | dict[str, "Plain"] | None
"""A JSON value."""

DEEPEST: Final = 64
"""Nesting beyond this is a mistake, a cycle or an attack."""

_PATH_CHARACTERS: Final = 128
_LARGEST: Final = 10**300


def plain(value: object, path: str = "", depth: int = 0) -> Plain:
    """Return `value` as plain JSON; aware instants and UUIDs become text.

    Raises:
        InvalidRequestError: NUL, a lone surrogate, a naive instant, a number that is
            none, or a value that JSON does not have, with its member's path.
    """
    if depth > DEEPEST:
        invalid(path, f"nested at most {DEEPEST} deep")
    if _is_mapping(value):
        return {
            _text(name, where := _member(path, name)): plain(member, where, depth + 1)
            for name, member in value.items()
        }
    if _is_sequence(value):
        return [
            plain(member, f"{path}[{index}]", depth + 1)
            for index, member in enumerate(value)
        ]
    return _scalar(value, path)


def without_floats(value: Plain, path: str = "") -> Plain:
    """Return `value`, in which every number is an integer: money is in no float.

    A float of 1e16 and more is written like an integer, which it may never have been.

    Raises:
        InvalidRequestError: a number is none, with its member's path.
    """
    match value:
        case float():
            invalid(path, "an integer, no float")
        case dict():
            for name, member in value.items():
                without_floats(member, _member(path, name))
        case list():
            for index, member in enumerate(value):
                without_floats(member, f"{path}[{index}]")
        case _:
            pass
    return value


def cleaned(value: object, levels: int = DEEPEST) -> object:
    """Return JSON with its texts and names cleaned; what is no JSON stays as it is.

    Raises:
        ValueError: it is nested deeper than `levels`.
    """
    if levels < 0:
        msg = f"nested at most {DEEPEST} deep"
        raise ValueError(msg)
    if isinstance(value, str):
        return clean(value)
    if _is_mapping(value):
        return {
            cleaned(name): cleaned(member, levels - 1) for name, member in value.items()
        }
    if _is_sequence(value):
        return [cleaned(member, levels - 1) for member in value]
    return value


def _scalar(value: object, path: str) -> Plain:
    match value:
        case None | bool():
            return value
        case str():
            return _text(value, path)
        case int():
            return _integer(value, path)
        case float():
            return _number(value, path)
        case datetime():
            return _instant(value, path)
        case UUID():
            return str(value)
        case _:
            kind = type(value).__name__
            rule = f"a JSON value, not a Python {kind}"
            raise InvalidRequestError(INVALID, path, rule)


def _is_mapping(value: object) -> TypeIs[Mapping[object, object]]:
    return isinstance(value, Mapping)


def _is_sequence(value: object) -> TypeIs[Sequence[object]]:
    return isinstance(value, list | tuple)


def _member(path: str, name: object) -> str:
    told = clean(str(name))[:_PATH_CHARACTERS]
    return f"{path}.{told}" if path else told


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        invalid(path, "members have names of text")
    if clean(value) != value:
        invalid(path, "text without NUL and lone surrogates")
    return value


def _integer(value: int, path: str) -> int:
    if abs(value) >= _LARGEST:
        invalid(path, "a number of at most 300 digits")
    return value


def _number(value: float, path: str) -> float:
    if not isfinite(value):
        invalid(path, "a finite number")
    return value


def _instant(value: datetime, path: str) -> str:
    if value.tzinfo is None:
        invalid(path, "an instant with its offset: a naive one could mean any hour")
    try:
        return value.astimezone(UTC).isoformat()
    except OverflowError:
        raise InvalidRequestError(INVALID, path, "between 1 and 9999") from None
