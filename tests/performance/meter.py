"""What work costs, told without a clock: messages, rows and bytes of WAL.

Statements, round trips and commits are counted where they pass by; rows, index entries
and bytes are read in the WAL itself, without full pages and without what the server
writes of its own accord.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy

# Flushed, so that the server's reader may look at everything before it.
_HERE = "SELECT pg_logical_emit_message(false, 'meter', '', true)::text"

_WRITTEN = """
SELECT sum(count) FILTER (WHERE kind ~ '^Heap/(INSERT|UPDATE|HOT_|DELETE)'),
       sum(count) FILTER (WHERE kind ~ '^Btree/INSERT_(LEAF|POST)'),
       sum(record_size)
  FROM (SELECT "resource_manager/record_type" AS kind, count, record_size
          FROM pg_get_wal_stats(%s::pg_lsn, %s::pg_lsn, true)) w
 WHERE kind ~ '^(Heap|Heap2|Btree|Transaction|Sequence)/'
"""


@dataclass(frozen=True)
class Cost:
    """What was used; or, as a bound, the most that may be."""

    statements: float = 0
    round_trips: float = 0
    commits: float = 0
    rows: float = 0
    """Inserted, updated and deleted."""
    index_entries: float = 0
    wal_bytes: float = 0

    def per(self, n: int) -> "Cost":
        """Return the share of one of `n`."""
        shares = {each.name: getattr(self, each.name) / n for each in fields(self)}
        return Cost(**shares)

    def above(self, most: "Cost") -> list[str]:
        """Return what costs more than it may, in words."""
        return [
            f"{each.name}: {getattr(self, each.name):.2f} > {getattr(most, each.name)}"
            for each in fields(self)
            if getattr(self, each.name) > getattr(most, each.name)
        ]


class Meter:
    """Measures what passes through the proxy, and what it leaves behind."""

    def __init__(self, database: TestDatabase, proxy: Proxy) -> None:
        self.connection = database.connect()
        self.connection.execute("CREATE EXTENSION pg_walinspect")
        self._proxy = proxy
        self.cost = Cost()
        """Of what was measured last."""

    @contextmanager
    def measuring(self) -> Generator[None]:
        """Measure what is done inside, over connections that are open already."""
        begun_at, before = self._here(), self._proxy.traffic
        yield
        passed, ended_at = self._proxy.traffic - before, self._here()
        (written,) = self.connection.execute(_WRITTEN, (begun_at, ended_at)).fetchall()
        rows, index_entries, wal_bytes = (float(each or 0) for each in written)
        self.cost = Cost(
            passed.statements,
            passed.round_trips,
            passed.commits,
            rows,
            index_entries,
            wal_bytes,
        )

    def _here(self) -> str:
        (row,) = self.connection.execute(_HERE).fetchall()
        return str(row[0])
