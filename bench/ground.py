"""Where a measurement takes place: a fresh clone of a prepared database, each time.

    empty    migrated, with the tables of a caller and the floor's procedure
    waiting  the same with no-op jobs that wait, enqueued through the front door

A clone has the statistics of its template, so every plan of every round starts from
the same knowledge.  A checkpoint before each measure keeps one measure's dirty pages
out of the next one's time.
"""

from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.floor import CREATE_FLOOR
from infrastructure import embedded
from infrastructure.limits import set_limits
from infrastructure.postgres.database import connect
from infrastructure.postgres.migrator import migrate

EMPTY: Final = "bench_empty"
WAITING: Final = "bench_waiting"

_CREATE_SHOP: Final = """
CREATE SCHEMA shop;
CREATE TABLE shop.payments (
    id           uuid        NOT NULL,
    customer_id  text        NOT NULL,
    amount_minor bigint      NOT NULL,
    paid_at      timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT payments_pkey PRIMARY KEY (id)
);
"""

_ENQUEUE: Final = """
SELECT count(counterfoil.enqueue(jsonb_build_object(
           'kind', 'noop',
           'args', jsonb_build_object('n', n))))
  FROM generate_series(%(first)s::int, %(last)s::int) AS n
"""

_AT_ONCE: Final = 1_000
"""Jobs in one transaction while a template is filled."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A running server, and the folder in which the run keeps its files."""

    uri: str
    folder: Path
    _numbers: "count[int]"

    @contextmanager
    def database(self, template: str = EMPTY) -> Generator[str]:
        """Give the address of a fresh clone; it is dropped afterwards."""
        name = f"bench_{next(self._numbers)}"
        self._create(name, template)
        try:
            yield self._address(name)
        finally:
            self._command(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )

    def template(self, name: str, of: str = "template0") -> str:
        """Make a database to clone; return its address."""
        self._create(name, of)
        return self._address(name)

    def checkpoint(self) -> None:
        """Write out what earlier measures left dirty."""
        self._command(sql.SQL("CHECKPOINT"))

    def prepare(self, jobs: int) -> None:
        """Make the templates; `jobs` no-op jobs wait in the second."""
        self._create(EMPTY, "template0")
        migrate(self._address(EMPTY))
        # A measure is no crowd that needs to be kept out.
        set_limits(self._address(EMPTY), pending=0, tenant_pending=0)
        with closing(connect(self._address(EMPTY))) as connection:
            connection.execute(_CREATE_SHOP)
            connection.execute(CREATE_FLOOR)
        self.fill(WAITING, jobs)

    def fill(self, name: str, jobs: int) -> None:
        """Make another template in which `jobs` no-op jobs wait."""
        self._create(name, EMPTY)
        with closing(connect(self._address(name))) as connection:
            for first in range(1, jobs + 1, _AT_ONCE):
                last = min(first + _AT_ONCE - 1, jobs)
                connection.execute(_ENQUEUE, {"first": first, "last": last})
            connection.execute("VACUUM ANALYZE")

    def _create(self, name: str, template: str) -> None:
        self._command(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY wal_log").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        self.checkpoint()

    def _address(self, name: str) -> str:
        return make_conninfo(self.uri, dbname=name)

    def _command(self, command: sql.SQL | sql.Composed) -> None:
        with closing(connect(self.uri)) as connection:
            connection.execute(command)


@contextmanager
def ground(folder: Path, jobs: int) -> Generator[Ground]:
    """Give a server of this run's own below `folder`, with templates made."""
    with embedded.serve(folder) as server:
        place = Ground(server.uri, folder, count(1))
        place.prepare(jobs)
        yield place
