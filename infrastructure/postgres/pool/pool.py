"""The pool, which finds a database again as soon as it is back."""

import random
import time
from collections.abc import Callable
from typing import Any, Final, override

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout
from psycopg_pool.pool import AddConnection, MaintenanceTask

from infrastructure.telemetry import measure
from infrastructure.telemetry.measures import ConnectionLent

type Connection = psycopg.Connection[tuple[object, ...]]

type Look = Callable[[Connection], None]
"""Looks at a new connection; raises when it must not be used.

It leaves the connection outside any transaction."""

LONGEST_PAUSE_SECONDS: Final = 1.0
"""Between two looks for a database that is away, however long it has been.  A refused
connection costs nothing, and whoever waits longer than that misses the return."""


class Pool(ConnectionPool[Connection]):
    """A pool that finds a database again within a second of its return.

    The library's own pauses double for five minutes: of a database that was away for
    eight seconds, commits noticed four seconds after claims did (psycopg_pool 3.3).
    """

    def __init__(self, conninfo: str, **more: Any) -> None:  # noqa: ANN401 - the library's own arguments
        """See the library."""
        self._asked_at: dict[object, float] = {}
        super().__init__(conninfo, **more)

    @override
    def getconn(self, timeout: float | None = None) -> Connection:
        """See the library; that somebody waits, and since when, is known meanwhile."""
        mark, began_at = object(), time.monotonic()
        self._asked_at[mark] = began_at
        is_timeout = False
        try:
            return super().getconn(timeout)
        except PoolTimeout:
            is_timeout = True
            raise
        finally:
            del self._asked_at[mark]
            measure(ConnectionLent(self.name, time.monotonic() - began_at, is_timeout))

    def longest_wait(self) -> float:
        """Return for how long somebody has been waiting for a connection."""
        asked_at = list(self._asked_at.values())
        return time.monotonic() - min(asked_at) if asked_at else 0.0

    @override
    def schedule_task(self, task: MaintenanceTask, delay: float) -> None:
        """Run a task later; one that connects waits no longer than we would."""
        if isinstance(task, AddConnection):
            delay = min(delay, drawn(LONGEST_PAUSE_SECONDS))
        super().schedule_task(task, delay)


def drawn(pause: float) -> float:
    """Return a pause from the upper half: many processes do not come back at once."""
    return random.uniform(pause / 2, pause)  # noqa: S311 - jitter
