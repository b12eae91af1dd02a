"""Random SIGKILLs, freezes and cuts, judged by a book that the handlers write."""

import random
import signal
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.effects import EffectBook, enqueue_booked
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import Start, WorkerProcess, is_over, until

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

WORKERS = 3
FAULTS = ("kill", "kill", "freeze", "cut answer", "cut before", "network")


@dataclass
class Ruin:
    """Three workers, some through a network that fails, and dice."""

    database: TestDatabase
    proxy: Proxy
    start: Start
    book: EffectBook

    def bring(self, seed: int, faults: int) -> None:
        """Let `faults` things go wrong while jobs run, then let everything finish."""
        self.dice = random.Random(seed)  # noqa: S311 - repeatable by its seed
        self.faults: list[tuple[str, int]] = []
        self.n_jobs = 150 * (faults + 1)
        self.database.advance(timedelta(minutes=10))
        connection = self.database.connect()
        enqueue_booked(connection, self.n_jobs)
        self.workers = [self.begin() for _ in range(WORKERS)]
        try:
            for n in range(faults):
                # When so much is done, more is surely under way.
                until(partial(self.has_done, 100 * n))
                self.fail(self.dice.choice(FAULTS), self.dice.randrange(WORKERS))
            until(lambda: self.is_over_in_time(connection), within_s=60)
        except AssertionError:
            self.explain(connection)
            raise
        self.book.judge(connection, self.n_jobs)

    def explain(self, connection: psycopg.Connection[Any]) -> None:
        """Show where everybody stands, to whoever reads the failure."""
        print(len(self.book.effects()), "effects", self.faults)  # noqa: T201
        for worker in self.workers:
            print(worker.pid, worker.is_alive(), worker.events.seen[-6:])  # noqa: T201
            if worker.is_alive():
                worker.thaw()
                worker.signal(signal.SIGUSR1)
        for row in connection.execute(
            """
            SELECT state, owner_pid, count(*), min(lease_until - counterfoil.now())
              FROM counterfoil.jobs GROUP BY 1, 2
            """
        ):
            print(row)  # noqa: T201

    def begin(self) -> WorkerProcess:
        return self.start(
            self.dice.choice([None, self.proxy.conninfo]),
            book=str(self.book.folder),
            heartbeat_seconds=0.2,
            queues={"default": 4},
        )

    def fail(self, fault: str, victim: int) -> None:
        self.faults.append((fault, self.workers[victim].pid))
        match fault:
            case "kill":
                self.workers[victim].kill()
                self.database.advance(timedelta(seconds=61))
                self.workers[victim] = self.begin()
            case "freeze":
                self.workers[victim].freeze()
                self.database.advance(timedelta(seconds=61))
                until(partial(self.has_done, len(self.book.effects()) + 1))
                self.workers[victim].thaw()
            case "cut answer":
                self.proxy.cut_commit_answer()
            case "cut before":
                self.proxy.cut_before_commit()
            case _:
                self.proxy.close_all()

    def has_done(self, n: int) -> bool:
        return len(self.book.effects()) >= min(n, self.n_jobs)

    def is_over_in_time(self, connection: psycopg.Connection[Any]) -> bool:
        """Return whether all is done; let some time pass for leases of the dead.

        Not more: whoever lives must be able to renew his own on a slow machine.
        """
        self.database.advance(timedelta(seconds=1))
        return is_over(connection)


@pytest.mark.parametrize("seed", range(2))
def test_a_few_random_faults(
    seed: int,
    database: TestDatabase,
    proxy: Proxy,
    start_worker: Start,
    tmp_path: Path,
) -> None:
    """I2-I4, I13: every job once, every effect under a claim of its own."""
    book = EffectBook(tmp_path / "effects")
    Ruin(database, proxy, start_worker, book).bring(seed, faults=4)


@pytest.mark.campaign
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 150))
def test_many_random_faults(
    seed: int,
    database: TestDatabase,
    proxy: Proxy,
    start_worker: Start,
    tmp_path: Path,
) -> None:
    book = EffectBook(tmp_path / "effects")
    Ruin(database, proxy, start_worker, book).bring(seed, faults=12)
