"""Which index a combination of terms is looked for by, and how far at once.

Every index whose fields are asked for is a way.  All of them are asked how far their
next `LOOKED_AT` rows reach; the one that reaches furthest has the fewest rows here, so
it leads, and the other terms are conditions on its rows.  If even that one does not
reach the end of the list, the page ends there: so a combination that is rare among
common rows costs no more than another page, and is found page by page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from psycopg import sql
from psycopg.rows import class_row, tuple_row

from projections.queries.page import COUNTED, Count, Edge
from projections.queries.stretch import Stretch
from projections.queries.terms import Among, Between, Field, Term
from projections.queries.text import Parameters, column, columns, condition, merged
from projections.queries.walk import Walk
from projections.reading import Reading

LOOKED_AT: Final = 5_000
"""Rows that one page looks at, at most, however few of them fit."""

_REACH: Final = sql.SQL("(SELECT {n} AS way, t.* FROM ({reach}) t)")
_HOW_MANY: Final = sql.SQL("""
SELECT count(*)
  FROM (SELECT
          FROM {table} t
         WHERE {condition}
         ORDER BY {column}
         LIMIT {limit}) t
""")
_FEW: Final = sql.SQL("""
SELECT {what}
  FROM (SELECT t.*
          FROM {table} t
         WHERE {condition}
         ORDER BY {column}
        OFFSET 0) t
 WHERE {conditions}
""")
_COUNT: Final = sql.SQL("SELECT count(*) FROM ({rows} LIMIT {limit}) t")


@dataclass(frozen=True, slots=True)
class Way:
    """Finds everything as far as `end`."""

    walk: Walk
    rest: tuple[Term, ...]
    """What its rows are still to be asked for."""
    few: Between | None = None
    """These bounds leave so few rows that they are put in order afterwards."""
    end: Edge | None = None
    """The last place that is looked at; None: the end of the list."""

    @property
    def is_alone(self) -> bool:
        """Whether all its rows are wanted, or they are few whatever they are."""
        return not self.rest or any(it.is_unique for it in self.walk.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Terms over one list, in one snapshot."""

    reading: Reading
    table: sql.Identifier
    where: sql.SQL | None
    fields: Mapping[str, Field]
    conditions: Mapping[str, Field]
    """See `Listing.conditions`."""
    pairs: tuple[tuple[str, ...], ...]
    order: tuple[str, ...]
    terms: tuple[Term, ...]
    """Without those over the column that leads the order; bounds are values."""
    downwards: bool

    def way(self, stretch: Stretch, looked_at: int) -> Way:
        """Return the way that reaches furthest by that many rows."""
        ways = self._ways()
        for way in ways:
            if way.is_alone:
                return way
        for term in self.terms:
            if isinstance(term, Between) and self._is_few(term, looked_at):
                rest = tuple(it for it in self.terms if it is not term)
                return replace(ways[-1], rest=rest, few=term)
        return self._furthest(ways[:-1] or ways, stretch, looked_at)

    def page[T: msgspec.Struct](
        self, way: Way, row: type[T], stretch: Stretch, limit: int
    ) -> list[T]:
        """Return the first rows of a way, in order."""
        given = Parameters()
        rows = self._rows(way, row.__struct_fields__, stretch, limit, given)
        query = merged(rows, self.order, limit, given, downwards=self.downwards)
        with self.reading.connection.cursor(row_factory=class_row(row)) as cursor:
            return cursor.execute(query, given).fetchall()

    def count(self, whole: Stretch) -> Count:
        """Return how many rows there are, as far as that is cheap to know."""
        given = Parameters()
        way = self._counted(whole)
        rows = self._rows(way, (), whole, COUNTED + 1, given)
        ((n,),) = self._ask(
            _COUNT.format(rows=rows, limit=given.add(COUNTED + 1)), given
        )
        is_all = way.end is None and n <= COUNTED
        return Count(min(n, COUNTED), "eq" if is_all else "gte")

    def _counted(self, whole: Stretch) -> Way:
        if len(self.terms) == 1 and whole == Stretch():
            (term,) = self.terms
            if isinstance(term, Between):
                return replace(self._by([]), rest=(), few=term)
        return self.way(whole, COUNTED)

    def _ways(self) -> list[Way]:
        """Return every way, those by most fields first, that by none last."""
        among: dict[str, Among] = {}
        for term in self.terms:
            if isinstance(term, Among):
                among.setdefault(term.field, term)
        paths = [pair for pair in self.pairs if among.keys() >= set(pair)]
        paths += sorted(
            ((name,) for name in among),
            key=lambda path: not self.fields[path[0]].is_unique,
        )
        return [self._by([among[name] for name in path]) for path in [*paths, ()]]

    def _by(self, leading: Sequence[Among]) -> Way:
        walk = Walk(
            table=self.table,
            where=self.where,
            fields=tuple(self.fields[term.field] for term in leading),
            values=tuple(tuple(dict.fromkeys(term.values)) for term in leading),
            order=self.order,
            downwards=self.downwards,
        )
        rest = tuple(it for it in self.terms if not any(it is led for led in leading))
        return Way(walk, rest)

    def _is_few(self, term: Between, looked_at: int) -> bool:
        given = Parameters()
        query = _HOW_MANY.format(
            table=self.table,
            condition=self._within(term, given),
            column=column(self.fields[term.field].column),
            limit=given.add(looked_at + 1),
        )
        ((n,),) = self._ask(query, given)
        return bool(n <= looked_at)

    def _furthest(self, ways: list[Way], stretch: Stretch, looked_at: int) -> Way:
        given = Parameters()
        reaches = [
            _REACH.format(
                n=sql.Literal(n), reach=self._reach(way, stretch, looked_at, given)
            )
            for n, way in enumerate(ways)
        ]
        query = sql.SQL(" UNION ALL ").join(reaches)
        ends = {n: tuple(key) for n, *key in self._ask(query, given)}
        for n, way in enumerate(ways):
            if n not in ends:
                return way
        choose = min if self.downwards else max
        best = choose(range(len(ways)), key=lambda n: ends[n])
        end = Edge(ends[best], is_included=True)
        return replace(ways[best], end=end)

    def _reach(
        self, way: Way, stretch: Stretch, looked_at: int, given: Parameters
    ) -> sql.Composed:
        """Return the query of the first place at which one of its scans would stop."""
        each = max(1, looked_at // way.walk.n_scans)
        rows = way.walk.rows(self.order, (), stretch, given, (each - 1, 1))
        return merged(rows, self.order, 1, given, downwards=self.downwards)

    def _rows(
        self,
        way: Way,
        what: Sequence[str],
        stretch: Stretch,
        limit: int,
        given: Parameters,
    ) -> sql.Composed:
        where: list[sql.Composable] = [
            self._condition(term, given) for term in way.rest
        ]
        within = stretch.beyond(way.end, downwards=not self.downwards)
        if way.few is None:
            return way.walk.rows(what, where, within, given, (0, limit))
        where += way.walk.bounds(within, given)
        return _FEW.format(
            what=columns(what),
            table=self.table,
            condition=self._within(way.few, given),
            column=column(self.fields[way.few.field].column),
            conditions=sql.SQL("\n   AND ").join(where or [sql.SQL("true")]),
        )

    def _within(self, term: Between, given: Parameters) -> sql.Composable:
        demanded = self._condition(term, given)
        if self.where is None:
            return demanded
        return demanded + sql.SQL(" AND ") + self.where

    def _condition(self, term: Term, given: Parameters) -> sql.Composed:
        return condition(term, {**self.fields, **self.conditions}, given)

    def _ask(self, query: sql.Composed, given: Parameters) -> list[tuple[Any, ...]]:
        with self.reading.connection.cursor(row_factory=tuple_row) as cursor:
            return cursor.execute(query, given).fetchall()
