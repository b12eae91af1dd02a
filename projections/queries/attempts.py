"""Attempt history: of a job, an operation, a delivery or an order; and how many.

Oldest first, as it happened.  What is told has a position: everything up to it is in.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql
from psycopg.rows import class_row, tuple_row

from domain.event import Instant
from domain.text import is_storable
from projections.connections import Lend
from projections.queries.correlations import correlations_of
from projections.queries.page import COUNTED, INVALID_PAGE, Count
from projections.queries.terms import check_tenant, refuse
from projections.read_models.attempts import TYPES
from projections.reading import AsOf, AtLeast, Reading, reading

MOST: Final = 200

_NAME: Final = "attempts"

# What an id stands for is asked of heads and log, which are never behind.
_OF_STREAM: Final = """
SELECT e.type, e.tenant_id
  FROM counterfoil.events e
 WHERE e.stream_id = %(id)s
   AND e.version = 1
"""
_OF_OUR_ORDER: Final = """
SELECT o.order_id
  FROM counterfoil.orders o
 WHERE o.stream_id = %(id)s
"""
_OF_CORRELATION: Final = sql.SQL("""
SELECT 1
  FROM {table}
 WHERE tenant_id = %(tenant_id)s
   AND correlation_id = %(key)s
 ORDER BY tenant_id, correlation_id, position
 LIMIT 1
""")

_LINES: Final = sql.SQL("""
SELECT t.stream_id, t.stream_kind, t.version, t.position, t.tenant_id, t.type,
       t.status, t.attempt, t.code, t.error_code, t.correlation_id, t.recorded_at,
       t.actor_type, t.actor_id, t.token
  FROM {rows}
""")
_COUNTS_OF: Final = sql.SQL("""
SELECT c.type, count(*)
  FROM (SELECT t.type FROM {rows}) c
 GROUP BY c.type
""")
_BY_STREAM: Final = sql.SQL("""
       {table} t
 WHERE t.stream_id = %(stream_id)s
   AND t.position > %(after)s
 ORDER BY t.stream_id, t.version
 LIMIT %(limit)s
""")
# Each correlation is a scan of the index in its order; few of them are merged.
_BY_CORRELATION: Final = sql.SQL("""
       unnest(%(correlations)s::text[]) c(id)
 CROSS JOIN LATERAL (
       SELECT *
         FROM {table} r
        WHERE r.tenant_id = %(tenant_id)s
          AND r.correlation_id = c.id
          AND r.position > %(after)s
        ORDER BY r.tenant_id, r.correlation_id, r.position
        LIMIT %(limit)s) t
 ORDER BY t.position
 LIMIT %(limit)s
""")

_COUNTS: Final = sql.SQL("""
SELECT w.type, n.n
  FROM unnest(%(types)s::text[]) w(type)
 CROSS JOIN LATERAL (
       SELECT count(*) AS n
         FROM (SELECT
                 FROM {table} t
                WHERE t.type = w.type {tenant}
                ORDER BY t.type, t.tenant_id
                LIMIT %(most)s) t) n
""")
_WORDS: Final = {
    "job.enqueued": "job",
    "fulfillment.requested": "operation",
    "goods.owed": "delivery",
    "order.paid": "order",
    "addon.purchased": "order",
    "wallet.credited": "order",
}
"""What a stream is, by its first event."""

_TENANT: Final = sql.SQL("AND t.tenant_id = %(tenant_id)s")
_NOTHING: Final = sql.SQL("")


class AttemptLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One change of one job, operation or delivery."""

    stream_id: UUID
    stream_kind: str
    """`job`, `operation` or `delivery`."""
    version: int
    position: int
    tenant_id: str
    type: str
    """What happened: the tag of its event."""
    status: str | None
    """The state afterwards; None: the event alone does not tell it."""
    attempt: int | None
    """Attempts spent, where the event counts them."""
    code: str | None
    error_code: str | None
    correlation_id: str
    recorded_at: Instant
    actor_type: str
    actor_id: str
    token: int | None


class HistoryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Whose history is wanted, and which page of it."""

    key: str
    """A job, an operation, a delivery, the shop's order or ours, or a correlation."""
    tenant_id: str = "default"
    """Whose order or correlation it is."""
    after: int = 0
    """Read on from this position."""
    limit: int = MOST


class TypeCount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How often something happened."""

    type: str
    count: Count


class History(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of a history, how often what happened in all of it, and as of when."""

    of: str
    """`job`, `operation`, `delivery`, `order` or `correlation`: what the id is."""
    items: tuple[AttemptLine, ...]
    next: int | None
    """Read on after this position; None: this was the end."""
    counts: tuple[TypeCount, ...]
    as_of: AsOf


class AttemptCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How often what has happened to everything, and as of when."""

    counts: tuple[TypeCount, ...]
    as_of: AsOf


class _Of(msgspec.Struct, frozen=True):
    """What an id stands for, and how its rows are found."""

    word: str
    rows: sql.SQL
    given: dict[str, object]


@dataclass(frozen=True, slots=True)
class AttemptHistory:
    """Tells what jobs and operations went through."""

    lend: Lend

    def __call__(
        self, wanted: HistoryFilter, *, at_least: AtLeast | None = None
    ) -> History | None:
        """Return one page of a history, or None when nothing has that id.

        Raises:
            InvalidRequestError: no page has so many.
        """
        if not 1 <= wanted.limit <= MOST:
            refuse(INVALID_PAGE, "limit", f"must be from 1 to {MOST}")
        with reading(self.lend, _NAME, at_least=at_least) as look:
            of = _subject(look, wanted)
            if of is None:
                return None
            rows_of = of.rows.format(table=look.table)
            given = of.given | {"after": wanted.after, "limit": wanted.limit + 1}
            statement = _LINES.format(rows=rows_of)
            with look.connection.cursor(row_factory=class_row(AttemptLine)) as cursor:
                lines = cursor.execute(statement, given).fetchall()
            given = of.given | {"after": 0, "limit": COUNTED + 1}
            rows = _ask(look, _COUNTS_OF.format(rows=rows_of), given)
        items = tuple(lines[: wanted.limit])
        is_whole = sum(n for _, n in rows) <= COUNTED
        relation = "eq" if is_whole else "gte"
        return History(
            of=of.word,
            items=items,
            next=items[-1].position if len(lines) > len(items) else None,
            counts=tuple(
                TypeCount(type=type_, count=Count(n, relation))
                for type_, n in sorted(rows)
            ),
            as_of=look.as_of,
        )

    def count(
        self,
        tenant_id: str | None = None,
        most: int | None = COUNTED,
        *,
        at_least: AtLeast | None = None,
    ) -> AttemptCounts:
        """Return how often what has happened; of nothing more than `most` is counted.

        With None everything is counted, however long that takes.

        Raises:
            InvalidRequestError: no tenant has that name.
        """
        check_tenant(tenant_id)
        with reading(self.lend, _NAME, at_least=at_least) as look:
            statement = _COUNTS.format(
                table=look.table, tenant=_NOTHING if tenant_id is None else _TENANT
            )
            given: dict[str, object] = {
                "types": list(TYPES),
                "tenant_id": tenant_id,
                "most": None if most is None else most + 1,
            }
            rows = _ask(look, statement, given)
        counts = tuple(_counted(type_, n, most) for type_, n in rows if n)
        return AttemptCounts(counts=counts, as_of=look.as_of)


def _counted(type_: str, n: int, most: int | None) -> TypeCount:
    is_all = most is None or n <= most
    return TypeCount(
        type=type_,
        count=Count(n, "eq") if is_all else Count(most or 0, "gte"),
    )


def _ask(
    look: Reading, statement: sql.Composed, given: dict[str, object]
) -> list[tuple[str, int]]:
    with look.connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(statement, given).fetchall()


def _subject(look: Reading, wanted: HistoryFilter) -> _Of | None:
    """Return what the id stands for: a stream, an order, else a correlation."""
    if not is_storable(wanted.key + wanted.tenant_id):
        return None  # PostgreSQL knows no such text
    stream = _stream(look.connection, wanted.key)
    if stream is not None:
        return stream
    found = correlations_of(look.connection, wanted.tenant_id, wanted.key)
    if found:
        return _correlated("order", wanted.tenant_id, found)
    given = {"tenant_id": wanted.tenant_id, "key": wanted.key}
    known = _OF_CORRELATION.format(table=look.table)
    if look.connection.execute(known, given).fetchone() is None:
        return None
    return _correlated("correlation", wanted.tenant_id, (wanted.key,))


def _stream(connection: psycopg.Connection[Any], key: str) -> _Of | None:
    try:
        id_ = UUID(key)
    except ValueError:
        return None
    with connection.cursor(row_factory=tuple_row) as cursor:
        birth = cursor.execute(_OF_STREAM, {"id": id_}).fetchone()
        word = None if birth is None else _WORDS.get(birth[0])
        if birth is None or word is None:
            return None
        if word != "order":
            return _Of(word, _BY_STREAM, {"stream_id": id_})
        order = cursor.execute(_OF_OUR_ORDER, {"id": id_}).fetchone()
    found = () if order is None else correlations_of(connection, birth[1], order[0])
    return _correlated(word, birth[1], found)


def _correlated(word: str, tenant_id: str, correlations: tuple[str, ...]) -> _Of:
    named: dict[str, object] = {"tenant_id": tenant_id}
    return _Of(word, _BY_CORRELATION, named | {"correlations": list(correlations)})
