"""One look at read models: rows, how far they are, and the clock, of one moment.

Which of its two tables a read model is read from is told by a row, which the same
snapshot shows: a swap while somebody reads is either all before or all after it.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from domain.errors import CounterfoilError
from domain.event import Instant
from projections.connections import Lend

# Every list is written for an index that gives its order.  Without these a plan made
# while a table was small or unknown would sort all of it for as long as it is kept;
# and a plan for each value would take longer than most pages.
_SNAPSHOT: Final = """
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_sort = off;
SET LOCAL enable_incremental_sort = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_material = off;
SET LOCAL jit = off;
SET LOCAL plan_cache_mode = force_generic_plan
"""

# A projection that never ran has no checkpoint: it has read nothing.
_LOOK: Final = """
SELECT p.name, p.live, coalesce(c.position, 0), counterfoil.now(),
       p.paused_at IS NOT NULL,
       (SELECT counterfoil.last_position())
  FROM counterfoil.projections p
  LEFT JOIN counterfoil.checkpoints c
         ON c.name = p.name || '_' || p.live || ':counterfoil'
 WHERE p.name = ANY(%(names)s::text[])
"""


class UnknownProjectionError(CounterfoilError):
    """The database does not know a projection that this version reads."""

    code = "unknown_projection"

    def __init__(self, names: list[str]) -> None:
        """Name the projections."""
        self.names = names
        super().__init__(
            f"{self.code}: {', '.join(names)}: not in counterfoil.projections; "
            "run `counterfoil migrate`"
        )


class AsOf(msgspec.Struct, frozen=True, rename="camel"):
    """The moment that a page shows."""

    position: int
    """Everything up to this position of the log is in it."""
    at: Instant
    log_end: int
    """The last position that anybody had asked for by then, committed or not."""
    is_paused: bool
    """Whether a person lets a read model of it stay as it is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot of read models; it ends with the block that it was given to."""

    connection: psycopg.Connection[Any]
    """All its reads see the same moment, and change nothing."""
    position: int
    """Everything up to this position of the log is in every table, nothing later."""
    now: Instant
    """The database's clock."""
    tables: Mapping[str, sql.Identifier]
    """The live table of each read model, by name."""
    log_end: int
    """See `AsOf`."""
    is_paused: bool

    @property
    def as_of(self) -> AsOf:
        """The moment that is shown."""
        return AsOf(self.position, self.now, self.log_end, self.is_paused)

    @property
    def table(self) -> sql.Identifier:
        """The table of the read model that was named first."""
        return next(iter(self.tables.values()))


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A position that a read is to be at or beyond, and how that is waited for.

    For one read: how long it waits in all counts from when this was made.
    """

    position: int
    wait: Callable[[str, int], None]
    """Return when the named projection was seen at the position; raise instead when
    that will not be, or not in time."""


@contextmanager
def reading(
    lend: Lend, name: str, *others: str, at_least: AtLeast | None = None
) -> Generator[Reading]:
    """Give a snapshot of the named read models, `at_least` at some position.

    Read models advance one by one: of several, the position is that of the one that
    is furthest behind, and rows of the others may tell of later events.

    Raises:
        UnknownProjectionError: the database does not know one of them.
        CounterfoilError: `at_least` was not reached; see there.
    """
    names = (name, *others)
    while True:
        with _snapshot(lend, names) as found:
            if at_least is None or found.position >= at_least.position:
                yield found
                return
        # Nothing is lent while it waits.  Looked at again after that: a swap to rows
        # that are less far may come in between.
        for each in names:
            at_least.wait(each, at_least.position)


@contextmanager
def _snapshot(lend: Lend, names: tuple[str, ...]) -> Generator[Reading]:
    with lend() as connection, connection.transaction():
        connection.execute(_SNAPSHOT)
        with connection.cursor(row_factory=tuple_row) as cursor:
            rows = cursor.execute(_LOOK, {"names": list(names)}).fetchall()
        found = {row[0]: row for row in rows}
        if missing := [each for each in names if each not in found]:
            raise UnknownProjectionError(missing)
        yield Reading(
            connection=connection,
            position=min(row[2] for row in rows),
            now=rows[0][3],
            tables={each: _table(each, found[each][1]) for each in names},
            log_end=rows[0][5],
            is_paused=any(row[4] for row in rows),
        )


def _table(name: str, slot: str) -> sql.Identifier:
    return sql.Identifier("counterfoil", f"read_{name}_{slot}")
