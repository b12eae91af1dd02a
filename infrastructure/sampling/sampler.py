"""Samples the installation every few seconds, over a connection of its own.

A look that fails takes its own gauges away and no others; without a database all of
them go.  A thread that hangs is seen by the age of what it has found last.
"""

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from infrastructure.errors import DatabaseUnavailableError, where
from infrastructure.postgres.database import Connection, Database, is_gone
from infrastructure.sampling.gauge import Labels, Look
from infrastructure.sampling.gauges import LOOKS
from infrastructure.sampling.sample import EVERY_SECONDS, Standing
from infrastructure.telemetry import emit
from infrastructure.telemetry.metrics.families import Families

_TELL_AGAIN_SECONDS: Final = 600.0
"""How often a look that goes on failing is told."""


class Sampler:
    """One thread that takes samples until it is stopped."""

    def __init__(
        self,
        database: Database,
        families: Families,
        is_ready: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Sample `database` into `families`; `is_ready` is asked beside it."""
        self._database = database
        self._is_ready = is_ready
        self.standing = Standing(families, self._pool, clock)
        self.every_seconds: float = EVERY_SECONDS
        self._told_at: dict[str, float] = {}
        """Of each look that fails, when that was told last."""
        self._told = threading.Event()
        self._sampled = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Take no further sample; return when the one that is being taken is over."""
        self._stop.set()
        self._thread.join()

    def wait_sampled(self) -> None:
        """Return once a sample was taken."""
        self._sampled.wait()
        self._told.wait()

    def wait_told(self) -> None:
        """Return once it has told whether the database answers."""
        self._told.wait()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._database.connect() as connection:
                    self._sample_until_stopped(connection)
            except (DatabaseUnavailableError, psycopg.Error):
                self.standing.unanswered()
            except Exception as error:  # noqa: BLE001 - a sample that fails must not end the sampler
                self.standing.unanswered()
                emit("sample failed", error=where(error))
            self.tell_process()
            self._stop.wait(self.every_seconds)

    def _sample_until_stopped(self, connection: Connection) -> None:
        while not self._stop.is_set():
            self.sample(connection)
            self.tell_process()
            self._stop.wait(self.every_seconds)

    def sample(self, connection: Connection) -> None:
        """Take one sample now; used by the loop and by tests.

        Raises:
            psycopg.Error: the connection was lost.
            DatabaseUnavailableError: the same.
        """

        @contextmanager
        def lend() -> Generator[psycopg.Connection[Any]]:
            yield connection

        for look in LOOKS:
            at = self.standing.now()
            try:
                values = {
                    (gauge, labels): float(value)
                    for gauge, labels, value in look.find(lend)
                }
            except DatabaseUnavailableError:
                raise
            except Exception as error:
                if _is_lost(connection, error):
                    raise
                self._fail(look, error)
            else:
                self.standing.found(look, values, at)
                self._told_at.pop(look.name, None)
        self._sampled.set()

    def _fail(self, look: Look, error: Exception) -> None:
        self.standing.lost(look)
        now = self.standing.now()
        if now - self._told_at.get(look.name, float("-inf")) >= _TELL_AGAIN_SECONDS:
            self._told_at[look.name] = now
            emit("sample failed", look=look.name, error=where(error))

    def tell_process(self) -> None:
        """Tell what is known of this process without asking the database."""
        self.standing.readiness(is_ready=self._is_ready())
        self._told.set()

    def _pool(self) -> Mapping[Labels, float]:
        stats = self._database.pool_stats()
        size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
        name = self._database.name
        return {
            (name, "idle"): idle,
            (name, "used"): size - idle,
            (name, "waited_for"): stats.get("requests_waiting", 0),
        }


def _is_lost(connection: Connection, error: Exception) -> bool:
    is_told = isinstance(error, psycopg.Error) and is_gone(error)
    return is_told or connection.closed
