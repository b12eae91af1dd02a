"""The lists that are measured, and whose plans are asserted; and what they are asked.

Who adds a list adds a line to `CASES`, and its rows below `bench.lists.laid`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, Final

import psycopg
from psycopg import sql

from bench.lists.laid import jobs, letters, records
from projections.queries.jobs import JOBS
from projections.queries.letters.listing import ENDED, OPEN
from projections.queries.listing import Listing
from projections.queries.page import Edge
from projections.queries.records.audit import AUDIT
from projections.queries.records.deliveries import DELIVERIES
from projections.queries.records.drifts import DRIFTS
from projections.queries.records.entitlements import ENTITLEMENTS
from projections.queries.records.operations import OPERATIONS
from projections.queries.records.orders import ORDERS
from projections.queries.terms import Among, Between, Term

type Connection = psycopg.Connection[Any]


@dataclass(frozen=True)
class Case:
    """A list, and the rows that it is shown over."""

    name: str
    listing: Listing[Any]
    rows: Mapping[str, str]
    """SQL of each column of a row; see `bench.lists.rows`."""
    unasked: Mapping[str, str] = field(default_factory=dict[str, str])
    """What follows the table in the names of indexes that no field of the list needs,
    and who does."""

    @property
    def table(self) -> str:
        """The table that is filled and read."""
        return f"read_{self.listing.name}_a"

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that order the list."""
        return tuple(column for column, _ in self.listing.order)


_GROUPS: Final = {"pkey": "the fold", "cause": "groups", "tenant_cause": "groups"}

CASES: Final = [
    Case(
        "jobs",
        JOBS,
        jobs.JOBS,
        {"order": "an order's refund", "order_stream": "what an order waits for"},
    ),
    Case(
        "dead letters",
        OPEN,
        letters.LETTERS,
        _GROUPS | {"ended_at": "those ended", "ended_tenant_id": "those ended"},
    ),
    Case(
        "ended letters",
        ENDED,
        letters.LETTERS,
        _GROUPS
        | dict.fromkeys((it.column for it in OPEN.fields.values()), "dead letters")
        | {"kind_code": "dead letters"},
    ),
    Case(
        "operations",
        OPERATIONS,
        records.OPERATIONS,
        {"applied": "what the panel has"},
    ),
    Case("orders", ORDERS, records.ORDERS),
    Case(
        "deliveries",
        DELIVERIES,
        records.DELIVERIES,
        {"order_stream_id": "what an order waits for"},
    ),
    Case("entitlements", ENTITLEMENTS, records.ENTITLEMENTS),
    Case("drifts", DRIFTS, records.DRIFTS, {"pkey": "the fold"}),
    Case("audit", AUDIT, records.AUDIT),
]

_BY_SHARE = sql.SQL("""
SELECT {column}
  FROM counterfoil.{table}
 WHERE {column} IS NOT NULL AND {where}
 GROUP BY 1
 ORDER BY count(*) DESC, 1
""")
_BY_SIZE = sql.SQL("""
SELECT percentile_disc(ARRAY[0.2, 0.5, 0.51]) WITHIN GROUP (ORDER BY {column})
  FROM counterfoil.{table}
 WHERE {where}
""")
_MIDDLE = sql.SQL("""
SELECT {columns}
  FROM counterfoil.{table}
 WHERE {where}
 ORDER BY {columns}
OFFSET (SELECT count(*) / 2 FROM counterfoil.{table} WHERE {where})
 LIMIT 1
""")


@dataclass(frozen=True)
class Question:
    """A term as it is likely to be asked, or unlikely."""

    name: str
    column: str
    term: Term


def singles(case: Case, connection: Connection) -> Iterator[Question]:
    """Yield each field: by what most rows have, what few have, both; by bounds."""
    leading = case.listing.order[0][0]
    for name, it in case.listing.fields.items():
        asked = {
            "column": sql.Identifier(it.column),
            "table": sql.Identifier(case.table),
            "where": case.listing.where or sql.SQL("true"),
        }
        if it.is_range or it.column == leading:
            ((bounds,),) = connection.execute(_BY_SIZE.format(**asked)).fetchall()
            most, middle, little = bounds
            yield Question(f"{name}: most", it.column, Between(name, least=most))
            few = Between(name, least=middle, below=little)
            yield Question(f"{name}: few", it.column, few)
            continue
        values = connection.execute(_BY_SHARE.format(**asked)).fetchall()
        common, rare = values[0][0], values[-1][0]
        yield Question(f"{name}: common", it.column, Among(name, (common,)))
        if rare != common:
            yield Question(f"{name}: rare", it.column, Among(name, (rare,)))
            both = Among(name, (common, rare))
            yield Question(f"{name}: both", it.column, both)


def middle(case: Case, connection: Connection) -> Edge:
    """Return a place in the middle of the list."""
    query = _MIDDLE.format(
        columns=sql.SQL(", ").join(map(sql.Identifier, case.order)),
        table=sql.Identifier(case.table),
        where=case.listing.where or sql.SQL("true"),
    )
    (row,) = connection.execute(query).fetchall()
    return Edge(tuple(row))


def neighbours(alone: Sequence[Question]) -> Iterator[tuple[Question, Question]]:
    """Yield each field, by what most rows have, with the next two of the list."""
    fields = list(_by_field(alone).values())
    for n, here in enumerate(fields):
        for other in (fields[(n + 1) % len(fields)], fields[(n + 2) % len(fields)]):
            yield here[0], other[0]
            yield here[0], other[-1]


def pairs(alone: Sequence[Question]) -> Iterator[tuple[Question, Question]]:
    """Yield every two fields, each by what most rows have and by what few have."""
    for one, other in combinations(_by_field(alone).values(), 2):
        yield from product(one, other)


def _by_field(alone: Sequence[Question]) -> dict[str, list[Question]]:
    fields: dict[str, list[Question]] = {}
    for question in alone:
        if not question.name.endswith("both"):
            fields.setdefault(question.term.field, []).append(question)
    return fields
