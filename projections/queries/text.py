"""The words of which the statements of lists are made."""

from collections.abc import Mapping, Sequence
from typing import Final

from psycopg import sql

from projections.queries.terms import Among, Between, Either, Field, Missing, Part, Term

_COMMA: Final = sql.SQL(", ")
_AMONG: Final = sql.SQL("{column} = ANY({values}::{type}[])")
_LEAST: Final = sql.SQL("{column} >= {bound}::{type}")
_BELOW: Final = sql.SQL("{column} < {bound}::{type}")
_MISSING: Final = sql.SQL("{column} IS NULL")
_EITHER: Final = sql.SQL("({ways})")
_OR: Final = sql.SQL(" OR ")
_AND: Final = sql.SQL(" AND ")
_MERGED: Final = sql.SQL("{rows} ORDER BY {order} LIMIT {limit}")


class Parameters(dict[str, object]):
    """Values of a statement that is being written."""

    def add(self, value: object) -> sql.Placeholder:
        """Return where the value will stand."""
        name = f"p{len(self)}"
        self[name] = value
        return sql.Placeholder(name)


def condition(
    term: Term | Missing, fields: Mapping[str, Field], given: Parameters
) -> sql.Composed:
    """Return what a term demands; bounds are values of the field's type by now."""
    match term:
        case Either():
            ways = (_all_of(way, fields, given) for way in term.ways)
            return _EITHER.format(ways=_OR.join(ways))
        case Missing():
            return _MISSING.format(column=column(fields[term.field].column))
        case Among():
            field = fields[term.field]
            values = given.add(list(dict.fromkeys(term.values)))
            it, type_ = column(field.column), type_of(field)
            return _AMONG.format(column=it, values=values, type=type_)
        case Between():
            return _between(term, fields[term.field], given)


def _all_of(
    parts: Sequence[Part], fields: Mapping[str, Field], given: Parameters
) -> sql.Composed:
    return _AND.join(condition(part, fields, given) for part in parts)


def _between(term: Between, field: Field, given: Parameters) -> sql.Composed:
    it, type_ = column(field.column), type_of(field)
    return _AND.join(
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
