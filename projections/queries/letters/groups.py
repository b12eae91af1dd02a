"""Dead letters grouped by their cause: how many, since when, and one to look at.

A cause is the kind, why it is dead, and what the last attempt met.  Causes are found
one after the other in the index, so it costs as much as there are causes, however
many letters each has; and no group is counted beyond 10,000.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
from psycopg import sql
from psycopg.rows import tuple_row

from domain.errors import InvalidRequestError
from domain.event import Instant
from projections.connections import Lend
from projections.queries.letters.filter import LetterFilter
from projections.queries.page import COUNTED, Count
from projections.queries.terms import INVALID_FILTER, check_tenant
from projections.reading import AsOf, AtLeast, Reading, reading

MOST_CAUSES: Final = 1_000
"""More are not looked at: then codes are no codes but texts."""

_NAME: Final = "dead_letters"
_OF_THE_LIST: Final = "and order are filters of the list alone"

# One row of the index for each cause, not for each letter.  Columns of the index are
# bounded and ordered by, not compared for equality, so no other index will do.
_GROUPS: Final = sql.SQL("""
WITH RECURSIVE cause(kind, code, met) AS (
    (SELECT kind, code, coalesce(error_code, '')
       FROM {table}
      WHERE state = 'open' {from_tenant} {to_tenant}
      ORDER BY {columns}
      LIMIT 1)
     UNION ALL
    SELECT n.kind, n.code, n.met
      FROM cause c
     CROSS JOIN LATERAL (
           SELECT kind, code, coalesce(error_code, '') AS met
             FROM {table}
            WHERE state = 'open'
              AND ({columns}) > ({values}) {to_tenant}
            ORDER BY {columns}
            LIMIT 1) n
)
SELECT c.kind, c.code, nullif(c.met, ''), h.letters, o.died_at, n.died_at,
       n.stream_id, n.stream_kind
  FROM (SELECT * FROM cause LIMIT %(most)s) c
 CROSS JOIN LATERAL (
       SELECT count(*) AS letters
         FROM (SELECT
                 FROM {table}
                WHERE {within}
                ORDER BY {columns}
                LIMIT %(counted)s) t) h
 CROSS JOIN LATERAL (
       SELECT died_at
         FROM {table}
        WHERE {within}
        ORDER BY {up}
        LIMIT 1) o
 CROSS JOIN LATERAL (
       SELECT died_at, stream_id, stream_kind
         FROM {table}
        WHERE {within}
        ORDER BY {down}
        LIMIT 1) n
""")
_WITHIN: Final = sql.SQL("""
    state = 'open'
    AND ({from_columns}) >= ({from_values})
    AND ({to_columns}) {to_sign} ({to_values})
""")
_NOTHING: Final = sql.SQL("")
_FROM_TENANT: Final = sql.SQL("AND tenant_id >= %(tenant)s")
_TO_TENANT: Final = sql.SQL("AND tenant_id <= %(tenant)s")
_COMMA: Final = sql.SQL(", ")
_DOWN: Final = sql.SQL("{} DESC")

type _Parts = tuple[sql.SQL, ...]

_TENANT: Final[_Parts] = (sql.SQL("tenant_id"),)
_CAUSE: Final[_Parts] = (
    sql.SQL("kind"),
    sql.SQL("code"),
    sql.SQL("coalesce(error_code, '')"),
)
_DIED: Final = sql.SQL("died_at")
_ORDER: Final[_Parts] = (_DIED, sql.SQL("stream_id"))
_THIS_TENANT: Final[_Parts] = (sql.SQL("%(tenant)s::text"),)
_THIS_CAUSE: Final[_Parts] = (sql.SQL("c.kind"), sql.SQL("c.code"), sql.SQL("c.met"))
_LEAST: Final = sql.SQL("%(least)s::timestamptz")
_BELOW: Final = sql.SQL("%(below)s::timestamptz")


class Cause(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Letters that have one cause."""

    kind: str
    code: str
    """Why they are dead."""
    error_code: str | None
    """What their last attempts met, where the code does not say it."""
    count: Count
    oldest: Instant
    newest: Instant
    sample: UUID
    """The newest of them."""
    sample_kind: str
    """`job`, `operation` or `delivery`: what the sample is."""


class Causes(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All causes, the most frequent first, and the moment that is shown."""

    causes: tuple[Cause, ...]
    has_more: bool
    """Whether there are more causes than are looked at."""
    as_of: AsOf


@dataclass(frozen=True, slots=True)
class LetterCauses:
    """Groups what nothing runs again without a person."""

    lend: Lend

    def __call__(
        self, wanted: LetterFilter, *, at_least: AtLeast | None = None
    ) -> Causes:
        """Return the causes of letters.

        Raises:
            InvalidRequestError: a group is not counted by queue or order.
        """
        if wanted.queues or wanted.order is not None:
            raise InvalidRequestError(INVALID_FILTER, "queue", _OF_THE_LIST)
        check_tenant(wanted.tenant_id)
        with reading(self.lend, _NAME, at_least=at_least) as look:
            rows = _rows(look, wanted)
        causes = [_cause(row) for row in rows[:MOST_CAUSES] if _is_wanted(row, wanted)]
        causes.sort(key=lambda each: (-each.count.value, each.kind, each.code))
        return Causes(
            causes=tuple(causes),
            has_more=len(rows) > MOST_CAUSES,
            as_of=look.as_of,
        )


def _rows(look: Reading, wanted: LetterFilter) -> Sequence[Sequence[Any]]:
    parameters: dict[str, object] = {
        "most": MOST_CAUSES + 1,
        "counted": COUNTED + 1,
        "tenant": wanted.tenant_id,
        "below": _before(look.now, wanted.older_than),
        "least": _before(look.now, wanted.younger_than),
    }
    is_of_all = wanted.tenant_id is None
    columns = _CAUSE if is_of_all else (*_TENANT, *_CAUSE)
    values = _THIS_CAUSE if is_of_all else (*_THIS_TENANT, *_THIS_CAUSE)
    statement = _GROUPS.format(
        table=look.table,
        columns=_COMMA.join(columns),
        values=_COMMA.join(values),
        from_tenant=_NOTHING if is_of_all else _FROM_TENANT,
        to_tenant=_NOTHING if is_of_all else _TO_TENANT,
        within=_within(columns, values, wanted),
        up=_COMMA.join((*columns, *_ORDER)),
        down=_COMMA.join(_DOWN.format(each) for each in (*columns, *_ORDER)),
    )
    with look.connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(statement, parameters).fetchall()


def _before(now: datetime, age: timedelta | None) -> datetime | None:
    return None if age is None else now - age


def _within(columns: _Parts, values: _Parts, wanted: LetterFilter) -> sql.Composed:
    """Return the bounds of one cause in the index."""
    least, below = wanted.younger_than is not None, wanted.older_than is not None
    return _WITHIN.format(
        from_columns=_COMMA.join((*columns, _DIED) if least else columns),
        from_values=_COMMA.join((*values, _LEAST) if least else values),
        to_columns=_COMMA.join((*columns, _DIED) if below else columns),
        to_values=_COMMA.join((*values, _BELOW) if below else values),
        to_sign=sql.SQL("<" if below else "<="),
    )


def _cause(row: Sequence[Any]) -> Cause:
    kind, code, error_code, letters, oldest, newest, sample, sample_kind = row
    return Cause(
        kind=kind,
        code=code,
        error_code=error_code,
        count=Count(min(letters, COUNTED), "eq" if letters <= COUNTED else "gte"),
        oldest=oldest,
        newest=newest,
        sample=sample,
        sample_kind=sample_kind,
    )


def _is_wanted(row: Sequence[Any], wanted: LetterFilter) -> bool:
    kind, code, error_code = row[:3]
    return (
        (not wanted.kinds or kind in wanted.kinds)
        and (not wanted.codes or code in wanted.codes)
        and (not wanted.error_codes or error_code in wanted.error_codes)
    )
