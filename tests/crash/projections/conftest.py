"""Processes that project, and a database that writes down what they do."""

# ruff: noqa: ANN401 - options are passed on to those who check them
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import psycopg
import pytest

from infrastructure.leadership import TTL_SECONDS
from projections.read_models.all import ALL
from tests.crash.projections.ledger import assert_moved_once, keep_a_ledger
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.read_models import assert_read_model_holds
from tests.fixtures.workers import WorkerProcess, until
from tests.projecting.runner.seen import is_caught_up


class Projecting(WorkerProcess):
    """A real process of tests/crash/projections/process.py."""

    module: ClassVar[str] = "tests.crash.projections.process"

    def wait_leading(self) -> None:
        """Return once it leads a projection."""
        self.events.wait_for("projection led")


def enqueue_some(connection: psycopg.Connection[Any], n: int) -> None:
    """Let so many jobs be asked for, in one transaction."""
    connection.execute(
        """
        SELECT counterfoil.enqueue('{"kind": "noop"}') FROM generate_series(1, %s)
        """,
        (n,),
    )


type Start = Callable[..., Projecting]


@dataclass(frozen=True)
class Scene:
    """A database with a ledger, a network that fails, and processes that project."""

    database: TestDatabase
    connection: psycopg.Connection[Any]
    proxy: Proxy
    start: Start
    """Starts a process by its name; `is_cut_off`: through the network that fails."""

    def enqueue(self, n: int) -> None:
        """Let so many jobs be asked for."""
        enqueue_some(self.connection, n)

    def pass_their_time(self) -> None:
        """Let the time of every role run out."""
        self.database.advance(timedelta(seconds=TTL_SECONDS))

    def leaders(self) -> set[tuple[int, int]]:
        """Return who leads projections now, as pid and term."""
        rows = self.connection.execute(
            """
            SELECT pid, term FROM counterfoil.leadership
             WHERE expires_at > counterfoil.now()
            """
        )
        return set(rows.fetchall())

    def assert_all_is_well(self) -> None:
        """Fail unless in the end all was written, once, and is what the book says.

        The books know no poison: what has set some aside is judged by its test.
        """
        until(lambda: is_caught_up(self.connection))
        assert_moved_once(self.connection)
        aside = self.set_aside()
        for projection in ALL:
            if projection.name not in aside:
                assert_read_model_holds(self.connection, projection)

    def set_aside(self) -> dict[str, list[int]]:
        """Return the positions that projections have set aside, by their names."""
        rows = self.connection.execute(
            """
            SELECT projection, array_agg(position ORDER BY position)
              FROM counterfoil.projection_set_aside GROUP BY projection
            """
        )
        return dict(rows.fetchall())


@pytest.fixture
def start(database: TestDatabase, proxy: Proxy) -> Iterator[Start]:
    """See `Scene.start`; each process is ended with the test."""
    started: list[Projecting] = []

    def begin(
        name: str, *, is_cut_off: bool = False, at: str | None = None, **more: Any
    ) -> Projecting:
        conninfo = proxy.conninfo if is_cut_off else at or database.conninfo
        options: dict[str, Any] = {"name": name, "stand_seconds": 0.1, "batch": 40}
        process = Projecting(conninfo, **(options | more))
        started.append(process)
        process.wait_ready()
        return process

    try:
        yield begin
    finally:
        for process in started:
            process.close()


@pytest.fixture
def scene(database: TestDatabase, proxy: Proxy, start: Start) -> Scene:
    """The scene of a test."""
    connection = database.connect()
    keep_a_ledger(connection)
    return Scene(database, connection, proxy, start)
