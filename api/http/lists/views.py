"""What a page of a list is, on the wire."""

import msgspec

from api.http.wire.values import Moment, Position, moment, position
from projections.reading import AsOf


class PageView(msgspec.Struct, frozen=True, kw_only=True):
    """Where the list goes on."""

    next: str | None
    """The cursor of the next page; null: here the list ends."""
    prev: str | None
    limit: int


class CountView(msgspec.Struct, frozen=True, kw_only=True):
    """How many there are, as far as they were counted."""

    value: int
    relation: str
    """`eq`, or `gte`: there are at least so many."""


class AsOfView(msgspec.Struct, frozen=True, kw_only=True):
    """The moment that is shown."""

    position: Position
    """Everything up to this position of the log is in it."""
    at: Moment


class ListView[V](msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of a list.

    It may hold fewer items than were asked for, even none, and still have a next one.
    """

    items: tuple[V, ...]
    page: PageView
    count: CountView | None
    """Only when it was asked for: `count=capped`."""
    as_of: AsOfView


def as_of(shown: AsOf) -> AsOfView:
    """Return the moment of a page."""
    return AsOfView(position=position(shown.position), at=moment(shown.at))
