"""A day of one installation: the whole worker runs, and the test moves the clock."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from application.operators.instruction import instruct
from application.operators.operate import Operate, Wanted
from domain.event import Actor
from domain.jobs.outcome import Completed
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.gates.unparking import Unparker
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.application.installed import TOKEN
from tests.fixtures.database import TestDatabase
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.workers import enqueue, history, kind, until, worker_here

_BUSY = """
SELECT 1 FROM counterfoil.jobs
 WHERE state = 'running' OR run_at <= counterfoil.now() LIMIT 1
"""


@dataclass
class Day:
    """Orders, windows of maintenance, and hours that take no time."""

    database: TestDatabase
    panel: PanelSimulator
    connection: psycopg.Connection[Any]
    maintenance: Maintenance
    rounds: list[int] = field(default_factory=list[int])
    """What each round of unparking did."""

    def settle(self, number: int, **members: object) -> None:
        asked: dict[str, object] = {
            "orderId": f"o{number}",
            "customerId": f"c{number}",
            "kind": "purchase",
            "currency": "USD",
            "amountMinor": 100,
            "lines": [{"line": 1, "type": "access", "days": 30}],
        }
        Client(self.connection).settle_order(asked | members)

    def operate(self, operation: str, customer: str) -> None:
        """Ask for an operation, as an operator does."""
        wanted = Wanted(
            entitlement=f"customer:{customer}", operation=operation, parameters={}
        )
        with Database(self.database.conninfo, pool_size=2) as pool:
            operate = Operate(PostgresStreams(pool), BatchStore(pool), new_id)
            operate(wanted, instruct("ann", "the customer asked"))

    def wait(self) -> None:
        """Return when the worker has looked at everything and has nothing to do."""
        looked = enqueue(self.connection, "look")
        until(lambda: history(self.connection, looked)[-1] == "succeeded")
        before = len(self.rounds)
        until(lambda: len(self.rounds) >= before + 2)
        until(lambda: not self.connection.execute(_BUSY).fetchall())

    def pass_(self, **duration: float) -> None:
        """Let time pass, and the worker see it."""
        self.database.advance(timedelta(**duration))
        self.wait()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement.encode()).fetchall()

    def tags(self) -> dict[str, int]:
        """Return how often each event of the product's own work has happened."""
        return dict(
            self.rows(
                """
                SELECT type, count(*) FROM counterfoil.events e
                 WHERE stream_id NOT IN (SELECT stream_id FROM counterfoil.events
                                          WHERE data->>'kind' = 'look')
                   AND type NOT LIKE 'maintenance.%'
                 GROUP BY type
                """
            )
        )


@pytest.fixture
def day(
    database: TestDatabase, panel: PanelSimulator, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Day]:
    """An installation whose worker runs all the time."""
    made = Day(database, panel, database.connect(), Maintenance(database))
    once = Unparker.round
    monkeypatch.setattr(Unparker, "round", _told(once, made.rounds))
    adapter = HttpPanel(PanelWire(panel.url, TOKEN))
    with Database(database.conninfo, pool_size=6) as pool:
        parts = Parts(
            streams=PostgresStreams(pool),
            units=BatchStore(pool),
            ids=new_id,
            panel=adapter,
            username_prefix="counterfoil_",
            actor=Actor("worker", "test"),
        )
        kinds = [*product_kinds(parts).values(), kind("look", lambda *_: Completed())]
        with worker_here(database, *kinds, rescue_seconds=0.02):
            yield made
    adapter.close()


def _told(
    once: Callable[[Unparker], int], rounds: list[int]
) -> Callable[[Unparker], int]:
    def told(unparker: Unparker) -> int:
        done = once(unparker)
        rounds.append(done)
        return done

    return told
