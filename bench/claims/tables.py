"""The tables beside which claims are measured, each in a database of its own.

    empty       nothing waits but what a claim is about to take
    far_N       N jobs wait that are due in a day or later
    unanalyzed  as many as the largest of those, and nobody has told the planner
    due         many jobs are due, each within the head start of every priority
    events      a long history
    old         many jobs have ended since a snapshot was taken that is still open

Half of the jobs (of `due`: all) lie in the queue that is claimed from, half in the
one in which nothing is due.  Rows are laid by set-based statements; what `old` drains
is written as claims and successes write it, but for their events: a claim reads none.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from bench.floor import LIVES
from bench.ground import Ground
from bench.sizes import FULL, Sizes
from infrastructure.postgres.database import Connection, connect

BUSY: Final = "default"
IDLE: Final = "bulk"
KIND: Final = "noop"

_JOBS: Final = """
INSERT INTO counterfoil.jobs (
       stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
       parkings, serial_order, cancel_requested, correlation_id, args,
       in_line)
SELECT counterfoil.uuid7(), 'default', 1, 'waiting', 'noop',
       (%(queues)s::text[])[1 + n %% cardinality(%(queues)s::text[])], 1 + n / 2 %% 4,
       counterfoil.now() + %(first)s::interval
           + %(spread)s::interval * (n::float8 / %(jobs)s),
       0, 0, 0, false, 'claims', '{"n": 1}', false
  FROM generate_series(1, %(jobs)s::int) n
"""

_DUE: Final = """
INSERT INTO counterfoil.jobs (
       stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
       parkings, serial_order, cancel_requested, correlation_id, args,
       in_line)
SELECT counterfoil.uuid7(), 'default', 1, 'waiting', 'noop', 'default', 1 + n %% 4,
       counterfoil.now(), 0, 0, 0, false, 'claims', '{"n": 1}', false
  FROM generate_series(1, %(jobs)s::int) n
"""

_CLAIM_ALL: Final = """
UPDATE counterfoil.jobs
   SET state = 'running', version = 2, token = 2, attempt = 1, owner_host = 'bench',
       owner_pid = 1, owner_boot = stream_id, claim_id = stream_id,
       beat_at = counterfoil.now(),
       lease_until = counterfoil.now() + interval '60 seconds'
 WHERE state = 'waiting'
"""
_LEAVE_ALONE: Final = "ALTER TABLE counterfoil.jobs SET (autovacuum_enabled = off)"
_FAR: Final = ("1 day", "30 days")
_END_ALL: Final = "DELETE FROM counterfoil.jobs WHERE state = 'running'"


_LEAST_DUE: Final = 10_000
"""Enough for the claims of a few rounds, however short a run is."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How many rows lie beside a claim."""

    far: tuple[int, ...]
    due: int
    events: int
    ended: int
    drained: tuple[int, ...]
    """Jobs of the drains whose rate is drawn over their number."""


def extent(sizes: Sizes) -> Extent:
    """Return what a full run lays, or as small a part of it as `sizes` is of `FULL`."""
    share = min(1.0, sizes.drained_jobs / FULL.drained_jobs)

    def part(rows: int) -> int:
        return max(40, int(rows * share))

    return Extent(
        far=tuple(part(rows) for rows in (1_000, 10_000, 100_000, 1_000_000)),
        due=max(_LEAST_DUE, part(500_000)),
        events=part(3_000_000),
        ended=part(1_500_000),
        drained=tuple(part(jobs) for jobs in (1_000, 10_000, 100_000)),
    )


@dataclass(frozen=True, slots=True)
class Table:
    """One prepared database."""

    name: str
    title: str
    conninfo: str = ""
    far: int = 0
    """Jobs of the far future in it, for what is drawn over them."""
    is_fed: bool = True
    """Whether jobs to claim have to be laid first; else enough are due."""


@contextmanager
def tables(place: Ground, how_many: Extent) -> Generator[list[Table]]:
    """Give every table, filled; they are dropped afterwards."""
    with ExitStack() as stack:

        def lay(table: Table, fill: Callable[[_Site], None]) -> Table:
            conninfo = stack.enter_context(place.database())
            with closing(connect(conninfo)) as connection:
                fill(_Site(conninfo, connection, stack))
            return replace(table, conninfo=conninfo)

        most, due = how_many.far[-1], how_many.due
        events, ended = how_many.events, how_many.ended
        made = [
            lay(Table("empty", "nothing else"), _Site.analyze),
            *(
                lay(Table(f"far_{n}", f"{n:,} far-future jobs", far=n), _far(n))
                for n in how_many.far
            ),
            lay(
                Table("unanalyzed", f"{most:,} of them, no statistics"), _unknown(most)
            ),
            lay(Table("due", f"{due:,} due jobs", is_fed=False), _due(due)),
            lay(Table("events", f"{events:,} events"), _events(events)),
            lay(Table("old", f"{ended:,} ended, old snapshot"), _old(ended)),
        ]
        place.checkpoint()
        yield made


@dataclass(frozen=True, slots=True)
class _Site:
    """A database that is being filled."""

    conninfo: str
    connection: Connection
    stack: ExitStack

    def wait(self, jobs: int, first: str, spread: str, *queues: str) -> None:
        """Let `jobs` wait: the first is due at `first`, the last `spread` later."""
        asked = {"jobs": jobs, "first": first, "spread": spread}
        self.connection.execute(_JOBS, asked | {"queues": list(queues)})

    def analyze(self) -> None:
        """Do what autovacuum would have done by now."""
        self.connection.execute("VACUUM ANALYZE")

    def hold_snapshot(self) -> None:
        """Keep everything that lives now, for as long as the tables stay."""
        old = self.stack.enter_context(closing(connect(self.conninfo)))
        old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT FROM counterfoil.installation")


def _far(jobs: int) -> Callable[[_Site], None]:
    def fill(site: _Site) -> None:
        site.wait(jobs, *_FAR, BUSY, IDLE)
        site.analyze()

    return fill


def _unknown(jobs: int) -> Callable[[_Site], None]:
    def fill(site: _Site) -> None:
        site.analyze()
        site.connection.execute(_LEAVE_ALONE)
        site.wait(jobs, *_FAR, BUSY, IDLE)

    return fill


def _due(jobs: int) -> Callable[[_Site], None]:
    def fill(site: _Site) -> None:
        site.wait(jobs, "-90 seconds", "89 seconds", BUSY)
        site.analyze()

    return fill


def _events(events: int) -> Callable[[_Site], None]:
    def fill(site: _Site) -> None:
        site.connection.execute(LIVES, {"lives": events // 3})
        site.analyze()

    return fill


def _old(jobs: int) -> Callable[[_Site], None]:
    def fill(site: _Site) -> None:
        site.wait(jobs, "-1 hour", "50 minutes", BUSY, IDLE)
        site.analyze()
        site.hold_snapshot()
        site.connection.execute(_CLAIM_ALL)
        site.connection.execute(_END_ALL)

    return fill


def lay_due(connection: Connection, jobs: int) -> None:
    """Let so many be due from now on in the queue that is claimed from."""
    connection.execute(_DUE, {"jobs": jobs})
