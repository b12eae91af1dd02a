"""What people say of queues and workers, over the test's own database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from application.operators.instruction import Instruction, instruct
from application.queues.control import ControlQueues
from application.queues.drain import DrainWorker
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.queues.wiring import control_queues_over, drain_worker_over
from tests.fixtures.database import TestDatabase

ANN = instruct("ann", "the reports are late")
BOB = instruct("bob", "the disk is full")
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Desk:
    """Where people say what is to be of queues and workers."""

    database: TestDatabase
    connection: psycopg.Connection[Any]
    queues: ControlQueues
    drain: DrainWorker

    def now(self) -> datetime:
        row = self.connection.execute("SELECT counterfoil.now()").fetchone()
        assert row is not None
        now: datetime = row[0]
        return now

    def pause(
        self, queue: str = "default", who: Instruction = ANN, lasts: timedelta = HOUR
    ) -> int:
        """Return the queue's version, paused for so long."""
        return self.queues.pause(queue, self.now() + lasts, who).after.version

    def limit(self, concurrency: int | None, queue: str = "default") -> None:
        self.queues.limit(queue, concurrency, ANN)

    def recorded(self) -> list[tuple[Any, ...]]:
        """Return what is on record of people: tag, what, of what, who."""
        return self.connection.execute(
            """
            SELECT type, data->>'action', data->>'target', meta->'actor'->>'id',
                   data->'before', data->'after', data->>'code'
              FROM counterfoil.events
             WHERE type LIKE 'operator.%'
             ORDER BY position
            """
        ).fetchall()


@contextmanager
def desk_over(database: TestDatabase) -> Iterator[Desk]:
    with Database(database.conninfo, pool_size=4) as pool:
        units = BatchStore(pool)
        yield Desk(
            database,
            database.connect(),
            control_queues_over(pool, units),
            drain_worker_over(pool, units),
        )


@pytest.fixture
def desk(database: TestDatabase) -> Iterator[Desk]:
    with desk_over(database) as made:
        yield made
