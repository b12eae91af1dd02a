"""Rows of one projection in one of its tables: loaded, written and deleted by key.

Nothing here is planned by statistics: keys are looked up one by one in the primary
key's index, also in a table that nobody has ever analyzed.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
import psycopg
from psycopg.adapt import PyFormat
from psycopg.rows import tuple_row
from psycopg.sql import SQL, Composed, Identifier, Placeholder

from infrastructure.errors import InfrastructureError
from infrastructure.projecting.columns import (
    TYPES,
    UNFIT_ERRORS,
    ColumnArray,
    ColumnType,
)
from projections.read_models.all import AnyProjection
from projections.read_models.projection import Key
from projections.read_models.slots import table_name

type Connection = psycopg.Connection[Any]

_COLUMNS: Final = """
SELECT attname, format_type(atttypid, atttypmod)
  FROM pg_attribute
 WHERE attrelid = to_regclass(%(table)s)
   AND attnum > 0
   AND NOT attisdropped
 ORDER BY attnum
"""

# OFFSET 0 keeps the planner from turning look-ups by key into a join of tables.
_LOAD: Final = SQL("""
SELECT t.*
  FROM unnest({keys}) AS k({names})
 CROSS JOIN LATERAL (
       SELECT {columns} FROM {table} AS r WHERE {same} OFFSET 0) AS t
""")

_WRITE: Final = SQL("""
INSERT INTO {table} ({columns})
SELECT * FROM unnest({values})
    ON CONFLICT ({key}) DO UPDATE SET {changes}
""")

_ADD: Final = SQL("INSERT INTO {table} ({columns}) SELECT * FROM unnest({values})")

_DELETE: Final = SQL("""
DELETE FROM {table}
 WHERE ctid = ANY(ARRAY(
       SELECT t.place
         FROM unnest({keys}) AS k({names})
        CROSS JOIN LATERAL (
              SELECT r.ctid AS place FROM {table} AS r WHERE {same} OFFSET 0) AS t))
""")


class ReadModelMismatchError(InfrastructureError):
    """A read model's table is not what the projection writes."""

    code = "read_model_mismatch"

    def __init__(self, table: str, problem: str) -> None:
        """Name the table and what does not fit."""
        self.table = table
        self.problem = problem
        super().__init__(
            f"counterfoil.{table}: {problem}; run `counterfoil migrate` with the "
            "version that is to project"
        )


class UnwritableError(InfrastructureError):
    """A row holds a value that its column cannot."""

    code = "unwritable_row"


class ReadTable:
    """One table of one projection."""

    def __init__(
        self, projection: AnyProjection, slot: str, kinds: Sequence[ColumnType]
    ) -> None:
        """Take the projection, which of its tables, and the types of its columns."""
        self._row = projection.row
        self._names: tuple[str, ...] = projection.row.__struct_fields__
        self._kinds = kinds
        self._key: list[int] = [self._names.index(name) for name in projection.key]
        self._key_kinds = [kinds[n] for n in self._key]
        self._compose(Identifier("counterfoil", table_name(projection.name, slot)))

    def _compose(self, table: Identifier) -> None:
        names = [Identifier(name) for name in self._names]
        key = [names[n] for n in self._key]
        comma = SQL(", ")
        keyed: dict[str, Any] = {
            "table": table,
            "keys": _arrays(self._key_kinds),
            "names": comma.join(key),
            "columns": comma.join(names),
            "same": SQL(" AND ").join(SQL("r.{0} = k.{0}").format(n) for n in key),
        }
        self._load = _LOAD.format(**keyed)
        self._delete = _DELETE.format(**keyed)
        written: dict[str, Any] = {
            "table": table,
            "columns": comma.join(names),
            "values": _arrays(self._kinds),
            "key": comma.join(key),
            "changes": comma.join(SQL("{0} = excluded.{0}").format(n) for n in names),
        }
        self._write = _WRITE.format(**written)
        self._add = _ADD.format(**written)

    def load(self, connection: Connection, keys: Collection[Key]) -> dict[Key, Any]:
        """Return the rows of those keys that have one."""
        if not keys:
            return {}
        asked = _packed(self._key_kinds, list(zip(*keys, strict=True)))
        with connection.cursor(binary=True, row_factory=tuple_row) as cursor:
            found = cursor.execute(self._load, asked, prepare=True).fetchall()
        return {
            tuple(values[n] for n in self._key): self._row(
                **dict(zip(self._names, values, strict=True))
            )
            for values in found
        }

    def write(self, connection: Connection, rows: Collection[Any]) -> None:
        """Make `rows` what the table holds under their keys.

        Raises:
            UnwritableError: a value does not fit its column.
            psycopg.Error: PostgreSQL refused one of them.
        """
        self._send(connection, self._write, rows)

    def add(self, connection: Connection, rows: Collection[Any]) -> None:
        """Insert rows under keys that the table does not hold; see `write`."""
        self._send(connection, self._add, rows)

    def _send(
        self, connection: Connection, statement: Composed, rows: Collection[Any]
    ) -> None:
        if rows:
            columns = zip(*map(msgspec.structs.astuple, rows), strict=True)
            told = _packed(self._kinds, list(columns))
            connection.execute(statement, told, prepare=True)

    def delete(self, connection: Connection, keys: Collection[Key]) -> None:
        """Delete the rows of those keys."""
        if keys:
            asked = _packed(self._key_kinds, list(zip(*keys, strict=True)))
            connection.execute(self._delete, asked, prepare=True)


def _arrays(kinds: Sequence[ColumnType]) -> Composed:
    arrays = [
        Placeholder(f"c{n}", PyFormat.BINARY) + SQL("::") + SQL(kind.array)
        for n, kind in enumerate(kinds)
    ]
    return Composed(arrays).join(", ")


def _packed(
    kinds: Sequence[ColumnType], columns: Sequence[Sequence[Any]]
) -> dict[str, ColumnArray]:
    try:
        return {
            f"c{n}": ColumnArray(kind, values)
            for n, (kind, values) in enumerate(zip(kinds, columns, strict=True))
        }
    except UNFIT_ERRORS as error:
        raise UnwritableError(type(error).__name__) from error


def read_table(
    connection: Connection, projection: AnyProjection, slot: str
) -> ReadTable:
    """Return a projection's table, compared with what the projection writes.

    Raises:
        ReadModelMismatchError: names, order or types of the columns do not fit.
    """
    table = table_name(projection.name, slot)
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(_COLUMNS, {"table": f"counterfoil.{table}"}).fetchall()
    names = tuple(row[0] for row in rows)
    if names != projection.row.__struct_fields__:
        raise ReadModelMismatchError(table, _difference(projection, names))
    for name, kind in rows:
        if kind not in TYPES:
            problem = f"column {name} is of type {kind}, which no projection writes"
            raise ReadModelMismatchError(table, problem)
    return ReadTable(projection, slot, [TYPES[kind] for _, kind in rows])


def _difference(projection: AnyProjection, found: Sequence[str]) -> str:
    wanted = projection.row.__struct_fields__
    if not found:
        return "there is no such table"
    absent = [name for name in wanted if name not in found]
    beyond = [name for name in found if name not in wanted]
    told = [f"lacks {', '.join(absent)}"] if absent else []
    told += [f"has {', '.join(beyond)} besides"] if beyond else []
    return " and ".join(told) or "its columns are in another order"
