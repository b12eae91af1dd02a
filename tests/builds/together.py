"""A service at work around a build: somebody writes, follows and reads all the time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL

from infrastructure.postgres.database import Database
from infrastructure.projecting.projector import Projector
from projections.read_models.projection import Key
from projections.reading import reading
from tests.builds.world import JOBS, World
from tests.fixtures.read_models import fold_from_zero

READERS = 2
ALL_ROWS = SQL("SELECT * FROM {}")


@dataclass
class Seen:
    """What one reader has read: positions with the rows there."""

    looks: list[tuple[int, dict[Key, dict[str, Any]]]] = field(
        default_factory=list[tuple[int, dict[Key, dict[str, Any]]]]
    )

    @property
    def positions(self) -> list[int]:
        return [position for position, _ in self.looks]


@dataclass
class Service:
    """Threads that work until they are told to stop."""

    world: World
    pool: Database
    readers: list[Seen] = field(default_factory=list[Seen])
    errors: list[BaseException] = field(default_factory=list[BaseException])
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def start(self) -> None:
        self._start(self._write)
        self._start(self._follow)
        for _ in range(READERS):
            seen = Seen()
            self.readers.append(seen)
            self._start(partial(self._read, seen))

    def _start(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                while not self._stop.is_set():
                    work()
            except BaseException as error:  # noqa: BLE001 - told by `stop`
                self.errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self._threads.append(thread)

    def _write(self) -> None:
        self.world.live(4)
        self._stop.wait(0.02)

    def _follow(self) -> None:
        projector = Projector(self.pool)
        while not self._stop.is_set():
            projector.advance(JOBS, most=7)

    def _read(self, seen: Seen) -> None:
        with (
            reading(self.pool.connection, "jobs") as read,
            read.connection.cursor(row_factory=dict_row) as cursor,
        ):
            rows = cursor.execute(ALL_ROWS.format(read.table)).fetchall()
        seen.looks.append((read.position, {(row["stream_id"],): row for row in rows}))
        self._stop.wait(0.01)

    def wait_for_reads(self, more: int) -> None:
        """Return once every reader has read so often again."""
        wanted = [len(seen.looks) + more for seen in self.readers]
        pause = threading.Event()
        while not self.errors and any(
            len(seen.looks) < n for seen, n in zip(self.readers, wanted, strict=True)
        ):
            pause.wait(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def require_right(self) -> None:
        """Fail unless no read failed or went back, and each was a fold of the log."""
        assert self.errors == []
        for seen in self.readers:
            assert seen.positions == sorted(seen.positions)
            for position, rows in dict(seen.looks).items():
                expected = fold_from_zero(self.world.connection, JOBS, position)
                assert rows == expected, f"at position {position}"


@contextmanager
def service(world: World) -> Iterator[Service]:
    """Let a service work around the block."""
    with Database(world.database.conninfo, pool_size=8) as pool:
        working = Service(world, pool)
        working.start()
        try:
            working.wait_for_reads(2)
            yield working
            working.wait_for_reads(2)
        finally:
            working.stop()
