"""Rows of a read model, made by SQL and skewed as reality is.

Almost everything has one state, one kind, one tenant; codes are rare, tenants many,
and three rows each share one microsecond.  A value depends on its row's number alone,
so two runs lay the same rows.
"""

from collections.abc import Mapping
from typing import Any, Final

import psycopg

_INSERT: Final = """
INSERT INTO counterfoil.{table} ({columns})
SELECT {values}
  FROM (SELECT n, counterfoil.now() - ({rows} - n / 3 * 3) * interval '1 s' AS at
          FROM generate_series(1, {rows}::bigint) AS n) AS row
"""
_INDEXES: Final = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid)
  FROM pg_index
 WHERE indrelid = %(table)s::regclass
   AND NOT indisprimary
"""
type Columns = Mapping[str, str]
"""SQL of each column's value, over `n`, the row's number, and `at`, its time."""

STREAM: Final = """
    (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
     || '7' || substr(md5(n::text), 1, 3)
     || '8' || substr(md5(n::text), 5, 15))::uuid"""
"""An id that grows with time, as ours do."""


def dice(salt: int, sides: int) -> str:
    """Return SQL of a number below `sides`, another one for each salt."""
    return f"abs(hashint8extended(n, {salt}) % {sides})"


def skewed(salt: int, **of_1000: int) -> str:
    """Return SQL of a text: each with how many rows of 1,000 have it."""
    thrown, sum_, cases = dice(salt, 1000), 0, ""
    for value, share in of_1000.items():
        sum_ += share
        cases += f" WHEN {thrown} < {sum_} THEN '{value}'"
    return f"CASE{cases} END"


def one_of(salt: int, n: int, name: str) -> str:
    """Return SQL of one of `n` names."""
    return f"'{name} ' || {dice(salt, n)}"


def rarely(salt: int, one_in: int, value: str) -> str:
    """Return SQL that is NULL of all rows but one in so many."""
    return f"CASE WHEN {dice(salt, one_in)} = 0 THEN {value} END"


def other(salt: int, one_in: int = 1) -> str:
    """Return SQL of the id of something else, shared by some rows."""
    return f"md5('{salt} ' || n / {one_in})::uuid"


TENANT: Final = (
    f"CASE WHEN {dice(1, 20)} > 0 THEN 'default' ELSE {one_of(2, 1000, 'tenant')} END"
)
"""One great tenant, and many small ones."""


def lay(
    connection: psycopg.Connection[Any], table: str, columns: Columns, rows: int
) -> None:
    """Fill a table; its indexes are made afterwards, which is faster."""
    known = {"table": f"counterfoil.{table}"}
    indexes = connection.execute(_INDEXES, known).fetchall()
    insert = _INSERT.format(
        table=table,
        columns=", ".join(columns),
        values=", ".join(columns.values()),
        rows=rows,
    )
    with connection.transaction():
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}".encode())
        connection.execute(insert.encode())
        for _, definition in indexes:
            connection.execute(definition.encode())
