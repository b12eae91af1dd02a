"""Samples the installation every few seconds, over a connection of its own.

A sample replaces the one before as a whole.  When none could be taken for a while there
are no values at all: an old one would be believed.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final, override

import psycopg
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from infrastructure.errors import DatabaseUnavailableError, where
from infrastructure.postgres.database import Connection, Database
from infrastructure.sampling.gauges import DECLARED, LOOKS
from infrastructure.telemetry import emit
from infrastructure.telemetry.metrics.families import PREFIX, Families, Level

EVERY_SECONDS: Final = 5.0
OLD_SECONDS: Final = 3 * EVERY_SECONDS
"""A sample that is older is not shown any more."""


class Standing(Collector):
    """The last sample."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with none."""
        self._clock = clock
        self._at = float("-inf")
        self._families: list[GaugeMetricFamily] = []

    def replace(self, families: list[GaugeMetricFamily], at: float) -> None:
        """Show another sample from now on, taken from `at`."""
        self._families, self._at = families, at

    @override
    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield what was sampled last, unless it is old."""
        if self._clock() - self._at < OLD_SECONDS:
            yield from self._families


class Sampler:
    """One thread that takes samples until it is stopped."""

    def __init__(
        self,
        database: Database,
        families: Families,
        is_ready: Callable[[], bool],
    ) -> None:
        """Sample `database` into `families`; `is_ready` is asked beside it."""
        self._database = database
        self._is_ready = is_ready
        for each in DECLARED:
            families.reserve(each.name, each.most)
        self.standing = Standing()
        families.registry.register(self.standing)
        self._up = families.gauge(
            "dependency_up", "1: it answered last.", "dependency", most=4
        )
        self._ready = families.gauge(
            "readiness", "1: this process says that it is ready."
        )
        self._pool = families.gauge(
            "db_pool_connections", "Of this process's pool.", *("pool", "state")
        )
        self.every_seconds: float = EVERY_SECONDS
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
            except (DatabaseUnavailableError, psycopg.OperationalError):
                self._up.set(0, "database")
            except Exception as error:  # noqa: BLE001 - a sample that fails must not end the sampler
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
            psycopg.Error: the connection was lost, or a look took too long.
        """
        at = time.monotonic()

        @contextmanager
        def lend() -> Generator[psycopg.Connection[Any]]:
            yield connection

        found = {
            each: GaugeMetricFamily(PREFIX + each.name, each.told, labels=each.labels)
            for each in DECLARED
        }
        highest: dict[tuple[str, tuple[str, ...]], float] = {}
        for look in LOOKS:
            for gauge, labels, value in look(lend):
                key = (gauge.name, labels)
                highest[key] = max(highest.get(key, float("-inf")), float(value))
        for gauge, family in found.items():
            mine = [
                (it[1], value) for it, value in highest.items() if it[0] == gauge.name
            ]
            for labels, value in mine[: gauge.most]:
                family.add_metric(labels, value)
        self.standing.replace(list(found.values()), at)
        self._up.set(1, "database")
        self._sampled.set()

    def tell_process(self) -> None:
        """Set what is known of this process without asking the database."""
        self._ready.set(self._is_ready())
        _tell_pool(self._database, self._pool)
        self._told.set()


def _tell_pool(database: Database, pool: Level) -> None:
    stats = database.pool_stats()
    size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
    pool.set(idle, database.name, "idle")
    pool.set(size - idle, database.name, "used")
    pool.set(stats.get("requests_waiting", 0), database.name, "waited_for")
