"""The parts of a worker, driven by hand: claim, then settle, one step at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from application.context import Context
from application.job_kinds import AnyKind, by_name
from domain.jobs.outcome import Completed, Outcome
from domain.jobs.verdict import Ending
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.gates.unparking import Unparker
from infrastructure.processor.heartbeat import beat, register
from infrastructure.processor.identity import actor_of, this_process
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.rescue import Rescuer
from infrastructure.processor.settler import Ended, Settler
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import Args, kind

if TYPE_CHECKING:
    import psycopg

_ticks = count(1)


def done(_args: Args, _ctx: Context) -> Outcome:
    return Completed()


NOOP = kind("noop", done)


class Rig:
    """One process that does nothing by itself."""

    def __init__(self, database: TestDatabase, pool: Database, *kinds: AnyKind) -> None:
        self.database = database
        self.pool = pool
        self.connection: psycopg.Connection[Any] = database.connect()
        self.owner = this_process()
        self.kinds = by_name(*(kinds or (NOOP,)))
        self.claimer = Claimer(
            self.owner, {name: each.lease_seconds for name, each in self.kinds.items()}
        )
        self.leases = Leases()
        self.store = BatchStore(pool)
        self.actor = actor_of(self.owner)
        self.settler = Settler(pool, self.store, self.leases, self.actor)
        self.rescuer = Rescuer(pool, self.store, self.kinds, self.actor)
        self.unparker = Unparker(pool, self.store, self.actor)

    def claim(
        self, n: int = 10, queue: str = "default", at: float | None = None
    ) -> list[Held]:
        """Return what one scan claims; without `at`, it is a full scan."""
        lane = Lane(queue, tuple(sorted(self.kinds)))
        moment = next(_ticks) * 1000.0 if at is None else at
        scan = self.claimer.scan(self.connection, lane, n, moment)
        pairs = [(job, self.kinds[job.kind]) for job in scan.jobs]
        return self.leases.take(pairs, self.leases.now())

    def claim_suspect(self, queue: str = "default") -> list[Held]:
        """Return the suspect that is claimed next, alone, or nothing."""
        lane = Lane(queue, tuple(sorted(self.kinds)))
        jobs = self.claimer.suspect(self.connection, lane, next(_ticks) * 1000.0)
        pairs = [(job, self.kinds[job.kind]) for job in jobs]
        return self.leases.take(pairs, self.leases.now(), alone=True)

    def die(self) -> int:
        """Be silent for more than a lease; return how many jobs others rescued."""
        register(self.connection, self.owner, sorted(self.kinds))
        self.database.advance(timedelta(seconds=121))
        return self.rescuer.round()

    def settle(self, held: Held, ending: Ending) -> None:
        self.settler.settle([Ended(held, ending)])

    def beat(self, held: Sequence[Held]) -> list[Held]:
        """Return what one heartbeat found lost."""
        since = self.leases.now()
        return self.leases.confirm(beat(self.connection, self.owner, held), since)


@contextmanager
def rig(database: TestDatabase, *kinds: AnyKind) -> Iterator[Rig]:
    with Database(database.conninfo, pool_size=4) as pool:
        yield Rig(database, pool, *kinds)
