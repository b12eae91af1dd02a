"""The words of which the statements of lists are made."""

from collections.abc import Sequence
from typing import Final

from psycopg import sql

from projections.queries.terms import Among, Between, Field, Term

_COMMA: Final = sql.SQL(", ")
_AMONG: Final = sql.SQL("{column} = ANY({values}::{type}[])")
_LEAST: Final = sql.SQL("{column} >= {bound}::{type}")
_BELOW: Final = sql.SQL("{column} < {bound}::{type}")
_MERGED: Final = sql.SQL("{rows} ORDER BY {order} LIMIT {limit}")


class Parameters(dict[str, object]):
    """Values of a statement that is being written."""

    def add(self, value: object) -> sql.Placeholder:
        """Return where the value will stand."""
        name = f"p{len(self)}"
        self[name] = value
        return sql.Placeholder(name)


def condition(term: Term, field: Field, given: Parameters) -> sql.Composed:
    """Return what a term demands; bounds are values of the field's type by now."""
    it, type_ = column(field.column), type_of(field)
    if isinstance(term, Among):
        values = given.add(list(dict.fromkeys(term.values)))
        return _AMONG.format(column=it, values=values, type=type_)
    return sql.SQL(" AND ").join(
        side.format(column=it, bound=given.add(bound), type=type_)
        for side, bound in _sides(term)
        if bound is not None
    )


def _sides(term: Between) -> tuple[tuple[sql.SQL, object], ...]:
    return (_LEAST, term.least), (_BELOW, term.below)


def merged(
    rows: sql.Composed,
    order: Sequence[str],
    limit: int,
    given: Parameters,
    *,
    downwards: bool,
) -> sql.Composed:
    """Return the query of the first of `rows`, in order."""
    order_ = ordered(order, downwards=downwards)
    return _MERGED.format(rows=rows, order=order_, limit=given.add(limit))


def ordered(names: Sequence[str], *, downwards: bool) -> sql.Composed:
    """Return what stands behind ORDER BY."""
    way = sql.SQL(" DESC" if downwards else " ASC")
    return _COMMA.join(column(name) + way for name in names)


def columns(names: Sequence[str]) -> sql.Composed:
    """Return a list of columns; it may be empty."""
    return _COMMA.join(map(column, names))


def column(name: str) -> sql.Composed:
    """Return a column of the rows that are looked at."""
    return sql.SQL("{}").format(sql.Identifier("t", name))


def type_of(field: Field) -> sql.SQL:
    """Return the name of a field's type."""
    return sql.SQL(field.type)
