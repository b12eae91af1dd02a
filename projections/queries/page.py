"""One page of a list: its rows, where to go on, and the moment that it shows.

A list is read by keyset: a page begins beside a place, which is a row's values of the
columns that order the list.  Ties end with an id, so no two rows share a place: no row
is missed or seen twice, however many were made in one microsecond.
"""

from datetime import UTC, datetime
from typing import Final, Self, override
from urllib.parse import quote, unquote
from uuid import UUID

import msgspec

from domain.errors import InvalidRequestError
from domain.text import is_storable
from projections.reading import AsOf

MOST: Final = 200
DEFAULT: Final = 50
COUNTED: Final = 10_000
"""Counting goes no further, whatever the list is."""

INVALID_PAGE: Final = "invalid_page"

type Value = datetime | UUID | int | str
"""What lists are ordered by."""

_BESIDE: Final = "~"
_INCLUDED: Final = "="
_PATH: Final = "cursor"
_REMEDY: Final = "give a place that a page of this list has told"


class Edge(msgspec.Struct, frozen=True):
    """A place in a list at which a page may begin."""

    key: tuple[Value, ...]
    """Values of the columns that order the list; fewer stand for all that begin so."""
    is_included: bool = False
    """Whether rows at the place itself belong to the page."""

    @override
    def __str__(self) -> str:
        """Return it in a form that `parse` takes."""
        told = _BESIDE.join(_told(value) for value in self.key)
        return _INCLUDED + told if self.is_included else told

    @classmethod
    def parse(cls, text: str, kinds: tuple[type[Value], ...]) -> Self:
        """Return the place that `str` told, in a list ordered by values of `kinds`.

        Raises:
            InvalidRequestError: the text is none of that list.
        """
        parts = text.removeprefix(_INCLUDED).split(_BESIDE)
        if len(parts) != len(kinds):
            raise InvalidRequestError(INVALID_PAGE, _PATH, _REMEDY)
        try:
            key = tuple(map(_value, parts, kinds))
        except (ValueError, OverflowError) as error:
            raise InvalidRequestError(INVALID_PAGE, _PATH, _REMEDY) from error
        return cls(key, text.startswith(_INCLUDED))


def _told(value: Value) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return (
        quote(value, safe="").replace(_BESIDE, "%7E")
        if isinstance(value, str)
        else str(value)
    )


def _value(text: str, kind: type[Value]) -> Value:
    if issubclass(kind, str):
        return _plain(unquote(text, errors="strict"))
    if issubclass(kind, datetime):
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is None:
            raise ValueError(text)
        return instant.astimezone(UTC)
    value = kind(text)
    if isinstance(value, int) and not 0 <= value < 1 << 63:
        raise ValueError(text)
    return value


def _plain(text: str) -> str:
    if not is_storable(text):
        raise ValueError(text)
    return text


class Count(msgspec.Struct, frozen=True):
    """How many rows a list has, as far as it was counted."""

    value: int
    relation: str
    """`eq`, or `gte`: at least so many."""


class Page[T](msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of a list.

    It may hold fewer rows than were asked for, even none, and still have a next one:
    what is rare among common rows is looked for in bounded stretches.
    """

    items: tuple[T, ...]
    next: Edge | None
    """Where the list goes on; None: here it ends."""
    prev: Edge | None
    """Where it goes on backwards; None: it began here."""
    limit: int
    count: Count | None = None
    """Only when it was asked for."""
    as_of: AsOf
