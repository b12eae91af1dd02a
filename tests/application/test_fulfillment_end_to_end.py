"""Paid orders reach a failing panel through a real worker and a real database."""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from domain.event import Actor
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.simulators.panel.faults import FAULT_NAMES, Rotation
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.fixtures.database import TestDatabase

CUSTOMERS = 20
ORDERS = 60
DEADLINE_SECONDS = 60.0

pytestmark = pytest.mark.database

UNFINISHED = """
SELECT count(*),
       count(*) FILTER (WHERE state = 'running' OR run_at <= counterfoil.now())
  FROM counterfoil.jobs
"""

OWED = """
SELECT username, to_char((desired->>'ends_at')::timestamptz AT TIME ZONE 'UTC',
                         'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  FROM counterfoil.entitlements
"""


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[PanelSimulator]:
    with PanelSimulator(book=tmp_path / "panel.db", token="t") as panel:  # noqa: S106 - of the simulator
        yield panel


@pytest.fixture
def worker(database: TestDatabase, panel: PanelSimulator) -> Iterator[Worker]:
    adapter = HttpPanel(PanelWire(panel.url, "t"))
    with Database(database.conninfo, pool_size=8) as pool:
        parts = Parts(
            streams=PostgresStreams(pool),
            units=BatchStore(pool),
            ids=new_id,
            panel=adapter,
            username_prefix="counterfoil_",
            actor=Actor("worker", "test"),
        )
        options = WorkerOptions(queues={"critical": 6})
        worker = Worker(pool, product_kinds(parts), options)
        yield worker
        worker.stop()
    adapter.close()


def settle_orders(database: TestDatabase) -> None:
    client = Client(database.connect())
    for number in range(ORDERS):
        client.settle_order(
            {
                "orderId": f"o{number}",
                "customerId": f"c{number % CUSTOMERS}",
                "kind": "renewal",
                "currency": "USD",
                "amountMinor": 100,
                "lines": [{"line": 1, "type": "access", "days": 30}],
            }
        )


def drain(database: TestDatabase) -> None:
    """Wait until no job is left; what waits for its time is brought forward."""
    connection = database.connect()
    give_up_at = time.monotonic() + DEADLINE_SECONDS
    left = None
    while time.monotonic() < give_up_at:
        row = connection.execute(UNFINISHED).fetchone()
        assert row is not None
        left, due = row
        if left == 0:
            return
        if due == 0:
            # Longer than any backoff that these few attempts can reach.
            database.advance(timedelta(seconds=90))
        time.sleep(0.02)
    pytest.fail(f"{left} jobs were left")


def test_every_order_is_fulfilled_and_the_panels_book_agrees(
    database: TestDatabase, panel: PanelSimulator, worker: Worker
) -> None:
    """I1, I2, I3: through the front door, the processor and a panel that fails."""
    names = tuple(name for name in FAULT_NAMES if not name.startswith("hang"))
    panel.faults.set(rotation=Rotation(rate=0.3, names=names, seed=1))
    settle_orders(database)

    worker.start()
    drain(database)

    connection = database.connect()
    states = connection.execute(
        "SELECT state, count(*) FROM counterfoil.orders GROUP BY state"
    ).fetchall()
    assert states == [("fulfilled", ORDERS)]
    owed = dict(connection.execute(OWED).fetchall())
    assert {user.username: user.expire_at for user in panel.users()} == owed
    assert len(owed) == CUSTOMERS
    assert any(request.fault for request in panel.book())
    assert_book_agrees(database, panel)


def assert_book_agrees(database: TestDatabase, panel: PanelSimulator) -> None:
    attempts: dict[str, int] = dict(
        database.connect()
        .execute("SELECT stream_id::text, attempts FROM counterfoil.operations")
        .fetchall()
    )
    applied: Counter[tuple[str, str, str]] = Counter()
    for request in panel.book():
        assert request.request_id is not None
        operation, attempt, _ = request.request_id.rsplit(".", 2)
        assert 1 <= int(attempt) <= attempts[operation]
        if request.applied:
            applied[f"{operation}.{attempt}", request.method, request.path] += 1
    assert set(applied.values()) == {1}
