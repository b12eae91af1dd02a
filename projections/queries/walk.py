"""One way through a list: the rows with given values of some fields, in its order.

Several values are several bounded scans of one index, merged: so neither order nor
limit ever sorts more than a page for each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from psycopg import sql

from projections.queries.page import Edge
from projections.queries.stretch import Stretch
from projections.queries.terms import Field, Scalar
from projections.queries.text import Parameters, column, columns, ordered, type_of

# The first columns of the index are bounded, not compared for equality, and ordered
# by: no other index gives this order, and sorting is off (`reading`).  So neither what
# the planner believes about the values nor what it does not know can choose another.
_SCAN: Final = sql.SQL("""
SELECT {what}
  FROM {table} t
 WHERE {conditions}
 ORDER BY {order}
OFFSET {skipped}
 LIMIT {limit}
""")
_OF_EACH: Final = sql.SQL("""
SELECT {what}
  FROM {values}
 CROSS JOIN LATERAL ({scan}) t
""")
_VALUES: Final = sql.SQL("unnest({values}::{type}[]) AS {name}(v)")
_NOT_NULL: Final = sql.SQL("{} IS NOT NULL")
_BOUND: Final = sql.SQL("({columns}) {sign} ({values})")
_SIGNS: Final = {
    (True, True): sql.SQL(">="),
    (True, False): sql.SQL(">"),
    (False, True): sql.SQL("<="),
    (False, False): sql.SQL("<"),
}
_COMMA: Final = sql.SQL(", ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Rows of one table whose fields have the given values."""

    table: sql.Identifier
    where: sql.SQL | None
    """What every row fulfils."""
    fields: tuple[Field, ...]
    """The first columns of an index; those of the order follow in it."""
    values: tuple[tuple[Scalar, ...], ...]
    """Of each field, without doubles."""
    order: tuple[str, ...]
    downwards: bool

    @property
    def n_scans(self) -> int:
        """How many scans are merged."""
        return prod(len(values) for values in self.values)

    def rows(
        self,
        what: Sequence[str],
        where: Sequence[sql.Composable],
        stretch: Stretch,
        given: Parameters,
        window: tuple[int, int],
    ) -> sql.Composed:
        """Return a query of rows, in no order; of each scan those of the window.

        The window is how many are left out first, and how many are in it at most.
        """
        skipped, limit = window
        led_by = tuple(field.column for field in self.fields)
        conditions = [*self.bounds(stretch, given), *where]
        if self.where is not None:
            conditions.append(self.where)
        scan = _SCAN.format(
            what=columns(what),
            table=self.table,
            conditions=sql.SQL("\n   AND ").join(conditions or [sql.SQL("true")]),
            order=ordered((*led_by, *self.order), downwards=self.downwards),
            skipped=given.add(skipped),
            limit=given.add(limit),
        )
        values = self._all_values(given) if self.fields else sql.SQL("(VALUES (1)) one")
        return _OF_EACH.format(what=columns(what), values=values, scan=scan)

    def bounds(self, stretch: Stretch, given: Parameters) -> list[sql.Composable]:
        """Return that rows are within the stretch, and have values at all."""
        # Told outright, or an index that leaves out NULL is not seen to be enough.
        known: list[sql.Composable] = [
            _NOT_NULL.format(column(field.column)) for field in self.fields
        ]
        known += self._bound(stretch.lower, given, is_lower=True)
        known += self._bound(stretch.upper, given, is_lower=False)
        return known

    def _bound(
        self, edge: Edge | None, given: Parameters, *, is_lower: bool
    ) -> list[sql.Composable]:
        key = () if edge is None else edge.key
        bounded = [*(it.column for it in self.fields), *self.order[: len(key)]]
        if not bounded:
            return []
        values: list[sql.Composable] = [
            sql.Identifier(f"f{n}", "v") for n in range(len(self.fields))
        ]
        values += [given.add(value) for value in key]
        sign = _SIGNS[is_lower, edge is None or edge.is_included]
        return [
            _BOUND.format(
                columns=columns(bounded), sign=sign, values=_COMMA.join(values)
            )
        ]

    def _all_values(self, given: Parameters) -> sql.Composed:
        return sql.SQL(" CROSS JOIN ").join(
            _VALUES.format(
                values=given.add(list(values)),
                type=type_of(field),
                name=sql.Identifier(f"f{n}"),
            )
            for n, (field, values) in enumerate(
                zip(self.fields, self.values, strict=True)
            )
        )
