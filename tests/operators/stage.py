"""Actions that meet: all of them wait for one row, which the test holds."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import pytest
from psycopg import sql

from application.errors import ApplicationError
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import until

_WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
_HOLD = "SELECT 1 FROM counterfoil.{} WHERE stream_id = {} FOR UPDATE"

type Act = Callable[[], object]


class Stage:
    """Lets actions meet on a row that the test holds."""

    def __init__(self, database: TestDatabase, pool: ThreadPoolExecutor) -> None:
        self._database = database
        self._pool = pool
        self._watch = database.connect()

    @contextmanager
    def holding(self, table: str, row: UUID) -> Iterator[None]:
        holder = self._database.connect()
        with holder.transaction():
            lock = sql.SQL(_HOLD).format(sql.Identifier(table), row)
            holder.execute(lock)
            yield

    def wait(self, act: Act, waiters: int) -> Future[object]:
        """Start `act`; return once so many in all wait for a lock."""
        future = self._pool.submit(act)
        until(lambda: future.done() or self._waiting() >= waiters)
        assert not future.done(), "it did not wait"
        return future

    def _waiting(self) -> int:
        ((n,),) = self._watch.execute(_WAITING).fetchall()
        return int(n)

    def meet(self, table: str, row: UUID, *acts: Act) -> list[object]:
        """Return what each action gave, or the error that it raised, in order."""
        with self.holding(table, row):
            futures = [self.wait(act, n) for n, act in enumerate(acts, 1)]
        return [outcome(future) for future in futures]


def outcome(future: Future[object]) -> object:
    try:
        return future.result(timeout=30)
    except ApplicationError as error:
        return error


@pytest.fixture
def stage(database: TestDatabase) -> Iterator[Stage]:
    with ThreadPoolExecutor(4) as pool:
        yield Stage(database, pool)
