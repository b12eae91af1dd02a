"""I7: rows = fold from zero = book at every checkpoint; nothing skipped, nothing twice.

Histories of many streams, written by real writers in any interleaving, with
transactions that stay open and others that are rolled back; any batches, several
advancers, crashes before any statement, and one that is frozen before any statement
while the others go on.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.jobs.events import AttemptFailed, JobEvent, Parked, Retried
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.projecting.advanced import State
from infrastructure.projecting.projector import Projector
from projections.read_models.jobs import Jobs
from tests.fixtures.database import TestDatabase, TestServer
from tests.fixtures.read_models import assert_read_model_holds
from tests.log.jobs import (
    CLAIM,
    DEATH,
    DUE,
    SNOOZE,
    SUCCESS,
    appending,
    births,
    job_refs,
    written,
)
from tests.projecting.mishaps import CrashError, Mishaps
from tests.projecting.tally import Tally, assert_tally_holds, create

if TYPE_CHECKING:
    import psycopg

    from domain.stream import Ref

pytestmark = pytest.mark.database

PROJECTIONS = (Jobs(), Tally())
ENQUEUE = """SELECT counterfoil.enqueue('{"kind": "mail", "args": {}}')"""

FAILED = AttemptFailed(attempt=1, token=2, code="no_answer", error="e", retry_at=DUE)
PARKED = Parked(attempt=0, token=2, until=DUE, cause="maintenance_active", parkings=1)
ENDS: tuple[JobEvent, ...] = (SUCCESS, SNOOZE, FAILED, PARKED, DEATH)


class World:
    """Writers, open transactions and advancers over one database."""

    def __init__(self, database: TestDatabase, pool: Database) -> None:
        self.database = database
        self.connection = database.connect()
        create(self.connection)
        self.store = BatchStore(pool)
        self.pool = pool
        self.advancers = [Projector(pool), Projector(pool)]
        self.waiting: list[Ref] = []
        self.running: list[Ref] = []
        self.dead: list[Ref] = []
        self.open: list[psycopg.Connection[Any]] = []

    def births(self, n: int) -> None:
        refs = job_refs(n)
        written(self.store.commit([births(refs)]))
        self.waiting += refs

    def claim(self, n: int) -> None:
        claimed, self.waiting = self.waiting[:n], self.waiting[n:]
        if claimed:
            written(self.store.commit([appending(claimed, CLAIM)]))
        self.running += claimed

    def end(self, n: int) -> None:
        ended, self.running = self.running[:n], self.running[n:]
        for ref, event in zip(ended, ENDS * n, strict=False):
            written(self.store.commit([appending([ref], event)]))
            if event is DEATH:
                self.dead.append(ref)
            elif event is not SUCCESS:
                self.waiting.append(ref)

    def retry(self, n: int) -> None:
        revived, self.dead = self.dead[:n], self.dead[n:]
        for ref in revived:
            retried = appending([ref], Retried(run_at=DUE))
            written(self.store.commit([retried]))
            self.waiting.append(ref)

    def leave_open(self, n: int) -> None:
        connection = self.database.connect()
        connection.autocommit = False
        for _ in range(n):
            connection.execute(ENQUEUE)
        self.open.append(connection)

    def commit(self, n: int) -> None:
        if self.open:
            self.open.pop(n % len(self.open)).commit()

    def roll_back(self, n: int) -> None:
        if self.open:
            self.open.pop(n % len(self.open)).rollback()

    def advance(self, n: int) -> None:
        for projection in PROJECTIONS:
            self.advancers[n % 2].advance(projection, most=n)

    def crash(self, n: int) -> None:
        """End a process before its n-th statement; the next one takes its place."""
        mishaps = Mishaps(self.database.conninfo)
        projector = Projector(mishaps)
        mishaps.crash_before(n)
        try:
            for projection in PROJECTIONS:
                projector.advance(projection, most=3)
        except CrashError:
            pass
        finally:
            mishaps.close()

    def freeze(self, n: int) -> None:
        """Freeze a process before its n-th statement while others advance."""
        mishaps = Mishaps(self.database.conninfo)
        projector = Projector(mishaps)
        mishaps.freeze_before(n)

        def advance() -> None:
            for projection in PROJECTIONS:
                projector.advance(projection, most=3)
            mishaps.reached.set()

        frozen = threading.Thread(target=advance)
        frozen.start()
        try:
            assert mishaps.reached.wait(60)
            self.advance(n)
            self.hold()
        finally:
            mishaps.thawed.set()
            frozen.join(60)
            mishaps.close()

    def hold(self) -> None:
        assert_read_model_holds(self.connection, PROJECTIONS[0])
        assert_tally_holds(self.connection)

    def finish(self) -> None:
        for connection in self.open:
            connection.rollback()
        for projection in PROJECTIONS:
            while (
                state := self.advancers[0].advance(projection).state
            ) is not State.UP_TO_DATE:
                assert state in {State.ADVANCED, State.OVERTAKEN}
        self.hold()


@contextmanager
def world(server: TestServer) -> Generator[World]:
    name = server.fresh_name()
    database = TestDatabase(server.create(name, "template_migrated"))
    try:
        with Database(database.conninfo, pool_size=2) as pool:
            yield World(database, pool)
    finally:
        database.close()
        server.drop(name)


# What makes a ticket matter comes often: something is left open, others commit, a
# batch is projected, what was open commits after all.
STEPS = (
    *(World.births, World.claim, World.end, World.retry),
    *(World.leave_open, World.commit, World.leave_open, World.commit),
    *(World.advance, World.advance, World.advance),
    *(World.roll_back, World.crash, World.freeze),
)
CHECKED = {World.advance, World.crash, World.freeze}
steps = st.tuples(st.sampled_from(STEPS), st.integers(1, 20))


FEW = settings(
    max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MANY = settings(FEW, max_examples=300)


def lived(history: list[tuple[Any, int]], server: TestServer) -> None:
    """Live through a history; at every checkpoint the read models hold."""
    with world(server) as at:
        at.births(3)
        at.advance(1)  # a checkpoint that two begin at once is waited for, for 2 s
        for step, n in history:
            step(at, n)
            if step in CHECKED:
                at.hold()
        at.finish()


@FEW
@given(history=st.lists(steps, min_size=20, max_size=40))
def test_whatever_happens_every_event_counts_once(
    history: list[tuple[Any, int]], database_server: TestServer
) -> None:
    lived(history, database_server)


@pytest.mark.campaign
@MANY
@given(history=st.lists(steps, min_size=20, max_size=60))
def test_whatever_happens_in_many_histories(
    history: list[tuple[Any, int]], database_server: TestServer
) -> None:
    lived(history, database_server)


@pytest.mark.parametrize("n", [1, 6, 11])
def test_what_was_open_while_others_were_projected_is_not_skipped(
    n: int, database_server: TestServer
) -> None:
    """The one history that only a horizon survives, whatever else happens."""
    with world(database_server) as at:
        at.leave_open(2)
        at.births(3)
        at.advance(20)
        at.crash(n)
        at.freeze(n)
        at.commit(0)
        at.finish()
