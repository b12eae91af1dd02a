"""One gauge of the installation, and looks that set some: each is bounded by its SQL.

What a look finds replaces what it found before as a whole.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import sql
from psycopg.rows import tuple_row

from domain.queues.queue import STANDARD
from infrastructure.telemetry.metrics.families import OTHER
from projections.connections import Lend
from projections.reading import Reading

type Rows = list[Any]
type Labels = tuple[str, ...]
type Merge = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Sampled:
    """One gauge."""

    name: str
    told: str
    labels: Labels = ()
    most: int = 60
    """Sets of labels; the ones beyond are told together, under `other`."""
    merge: Merge = sum
    """What the ones beyond come to: the sum of counts, the highest of ages."""


type Found = tuple[Sampled, Labels, float]


@dataclass(frozen=True, slots=True)
class Look:
    """What one look finds, in few bounded statements."""

    find: Callable[[Lend], Iterator[Found]]
    gauges: tuple[Sampled, ...]
    """All that it may set."""

    @property
    def name(self) -> str:
        """What it is called in the log."""
        return self.find.__name__


def within(gauge: Sampled, values: dict[Labels, float]) -> dict[Labels, float]:
    """Return values of at most as many sets of labels as the gauge may have.

    The queues that every worker serves and the highest values come first: whoever
    makes many labels hides none of those.
    """
    if len(values) <= gauge.most:
        return values
    ranked = sorted(values, key=lambda it: (it[0] not in STANDARD, -values[it], it))
    kept = {labels: values[labels] for labels in ranked[: gauge.most]}
    others = (OTHER,) * len(gauge.labels)
    beyond = [values[labels] for labels in ranked[gauge.most :]]
    known = (kept[others],) if others in kept else ()
    return kept | {others: gauge.merge((*known, *beyond))}


# The server itself ends a look that takes longer; and it goes by the indexes that are
# there for it, as far as it has to, whatever the planner knows of a table.
_BOUND: Final = """
SET LOCAL statement_timeout = '2s';
SET LOCAL jit = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off
"""


def fetched(lend: Lend, statement: LiteralString, **asked: object) -> Rows:
    """Return the rows of one statement, in a transaction of its own."""
    with lend() as connection, connection.transaction():
        connection.execute(_BOUND)
        with connection.cursor(row_factory=tuple_row) as cursor:
            return cursor.execute(statement, asked).fetchall()


def read(look: Reading, statement: sql.SQL, most: int) -> Rows:
    """Return the rows of a statement over the first `table` of a reading."""
    look.connection.execute(_BOUND)
    whole = statement.format(table=look.table, most=sql.Literal(most))
    with look.connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(whole).fetchall()
