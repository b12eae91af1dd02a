"""A million events are rebuilt by the real command while the service works (I7)."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from psycopg.sql import SQL

from bench.projections.recorded import lives, write_copy
from bench.single import order
from infrastructure.postgres.database import Database
from projections.reading import reading
from tests.api.command import Command
from tests.builds.world import JOBS, World
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_model_holds, project

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3_600)]

EVENTS = 1_000_000
LIVES = 30_000
"""Lives of jobs that are written at once."""

COUNT = SQL("SELECT count(*), max(updated_at) FROM {} WHERE state = 'succeeded'")
SETTLE = "SELECT counterfoil.settle_order(%s::jsonb)"


class Customers:
    """Somebody who buys and somebody who reads, until they are told to stop."""

    def __init__(self, database: TestDatabase) -> None:
        self.positions: list[int] = []
        self.bought = 0
        self.errors: list[BaseException] = []
        self._database = database
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(deed,))
            for deed in (self._read, self._buy)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, deed: Callable[[], None]) -> None:
        try:
            deed()
        except BaseException as error:  # noqa: BLE001 - told at the end
            self.errors.append(error)

    def _read(self) -> None:
        with Database(self._database.conninfo, pool_size=1) as pool:
            while not self._stop.wait(0.05):
                with reading(pool.connection, "jobs") as read:
                    read.connection.execute(COUNT.format(read.table)).fetchall()
                    self.positions.append(read.position)

    def _buy(self) -> None:
        with closing(self._database.connect()) as connection:
            while not self._stop.wait(0.05):
                connection.execute(SETTLE, (json.dumps(order(self.bought)),))
                self.bought += 1

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def at_work(database: TestDatabase) -> Iterator[Customers]:
    """Let customers buy and read, and a real worker fulfil and follow."""
    command = Command(COUNTERFOIL_DATABASE_URL=database.url)
    worker = command.start("worker")
    worker.wait_for("working")
    customers = Customers(database)
    try:
        yield customers
    finally:
        customers.stop()
        worker.stop()
        command.close()


def test_a_million_events_are_rebuilt_while_the_service_works(
    world: World,
) -> None:
    events = 0
    while events < EVENTS:
        rows = list(lives(LIVES))
        write_copy(world.connection, rows)
        events += len(rows)
    world.connection.execute("VACUUM ANALYZE counterfoil.events")
    project(world.pool, [JOBS], most=20_000)
    command = Command(COUNTERFOIL_DATABASE_URL=world.database.url)

    with at_work(world.database) as customers:
        before = len(customers.positions)
        rebuild = command.start("projections", "rebuild", "jobs", "--json")
        assert rebuild.process.wait(3_000) == 0
        told = json.loads(rebuild.end().out)
        reads = len(customers.positions) - before
        verify = command.start("projections", "verify", "jobs", "--json")
        is_right = verify.process.wait(3_000) == 0

    sys.stdout.write(f"{reads} reads, {customers.bought} bought meanwhile: {told}\n")
    assert told["events"] >= EVENTS
    assert (reads > 20, customers.bought > 20, customers.errors) == (True, True, [])
    assert customers.positions == sorted(customers.positions)
    assert is_right, verify.end().out
    world.follow()
    assert_read_model_holds(world.connection, JOBS)
