"""A list over one read model: what may be asked for, and the page that answers.

Every field has an index `(field, …order)`, or one of its own when it is unique; the
order has one too.  Bounds of the column that leads the order begin and end the scan.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
from psycopg import sql

from projections.queries.page import Count, Edge, Page, Value
from projections.queries.search import LOOKED_AT, Search
from projections.queries.stretch import Stretch
from projections.queries.terms import (
    NO_FIELDS,
    Among,
    Asked,
    Between,
    Bound,
    Either,
    Field,
    Term,
    check,
)
from projections.reading import AsOf, Reading

type Order = tuple[tuple[str, type[Value]], ...]

BY_CREATION: Final[Order] = (("created_at", datetime), ("stream_id", UUID))
BY_POSITION: Final[Order] = (("position", int),)

_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing[T: msgspec.Struct]:
    """A list as it is declared."""

    name: str
    """The read model's."""
    row: type[T]
    """Its members are the columns that are shown, those of the order among them."""
    fields: Mapping[str, Field]
    order: Order = BY_CREATION
    """The newest first; together they are unique."""
    pairs: tuple[tuple[str, ...], ...] = ()
    """Fields that have an index together, with the order behind them."""
    where: sql.SQL | None = None
    """What every row of the list fulfils; literal, so that indexes may be partial."""
    conditions: Mapping[str, Field] = NO_FIELDS
    """Columns without an index: rows are held against them, but not found by them."""
    looked_at: int = LOOKED_AT
    """Rows that one page looks at, at most, however few of them fit."""

    def edge(self, text: str) -> Edge:
        """Return the place in this list that `str(edge)` told.

        Raises:
            InvalidRequestError: the text is none.
        """
        return Edge.parse(text, tuple(kind for _, kind in self.order))

    def read(self, reading: Reading, asked: Asked) -> Page[T]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
        """
        check(
            asked,
            self.fields,
            leading=self.order[0][0],
            conditions=self.conditions,
        )
        terms = tuple(_resolved(term, reading.now) for term in asked.terms)
        whole = self._stretch(asked.terms, reading.now)
        start = asked.before or asked.after
        search = Search(
            reading=reading,
            table=reading.tables[self.name],
            where=self.where,
            fields=self.fields,
            conditions=self.conditions,
            pairs=self.pairs,
            order=self._order,
            terms=tuple(term for term in terms if not self._is_leading(term)),
            downwards=asked.is_oldest_first == (asked.before is not None),
        )
        stretch = whole.beyond(start, downwards=search.downwards)
        way = search.way(stretch, self.looked_at)
        items = search.page(way, self.row, stretch, asked.limit + 1)
        return self._page(
            asked,
            items[: asked.limit],
            ahead=self._ahead(items, asked.limit, way.end),
            count=search.count(whole) if asked.is_counted else None,
            as_of=reading.as_of,
        )

    @property
    def _order(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.order)

    def _is_leading(self, term: Term) -> bool:
        if isinstance(term, Either):
            return False
        return self.fields[term.field].column == self.order[0][0]

    def _stretch(self, terms: tuple[Term, ...], now: datetime) -> Stretch:
        """Return what the bounds of the order's own column leave."""
        stretch = Stretch()
        for term in terms:
            if isinstance(term, Between) and self._is_leading(term):
                least, below = _at(term.least, now), _at(term.below, now)
                if least is not None:
                    stretch = stretch.above(Edge((least,), is_included=True))
                if below is not None:
                    stretch = stretch.under(Edge((below,)))
        return stretch

    def _ahead(self, items: list[T], limit: int, end: Edge | None) -> Edge | None:
        """Return where who goes on in the same direction begins."""
        if len(items) > limit:
            return self._place(items[limit - 1])
        # The end itself was looked at.
        return None if end is None else Edge(end.key)

    def _page(
        self,
        asked: Asked,
        items: list[T],
        *,
        ahead: Edge | None,
        count: Count | None,
        as_of: AsOf,
    ) -> Page[T]:
        start = asked.before or asked.after
        back = start
        if start is not None:
            # A page of nothing leaves exactly what lies on its other side.
            back = (
                self._place(items[0])
                if items
                else Edge(start.key, is_included=not start.is_included)
            )
        is_back = asked.before is not None
        return Page(
            items=tuple(reversed(items)) if is_back else tuple(items),
            next=back if is_back else ahead,
            prev=ahead if is_back else back,
            limit=asked.limit,
            count=count,
            as_of=as_of,
        )

    def _place(self, item: T) -> Edge:
        return Edge(tuple(getattr(item, column) for column in self._order))


def _resolved(term: Term, now: datetime) -> Term:
    """Return a term whose ages are instants."""
    match term:
        case Between():
            return _at_both(term, now)
        case Either():
            ways = (
                tuple(
                    _at_both(part, now) if isinstance(part, Between) else part
                    for part in way
                )
                for way in term.ways
            )
            return Either(term.field, tuple(ways))
        case Among():
            return term


def _at_both(term: Between, now: datetime) -> Between:
    return Between(term.field, _at(term.least, now), _at(term.below, now))


def _at(bound: Bound | None, now: datetime) -> datetime | int | None:
    """Return a bound as a value."""
    if not isinstance(bound, timedelta):
        return bound
    try:
        return now - bound
    except OverflowError:
        return _FIRST if bound > timedelta() else _LAST
