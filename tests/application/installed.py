"""A worker over a real database, in front of a simulated panel; and its drain."""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from domain.event import Actor
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.fixtures.database import TestDatabase

DEADLINE_SECONDS = 60.0
TOKEN = "t"  # noqa: S105 - of the simulator
SQUADS = (
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
)

_UNFINISHED = """
SELECT count(*),
       count(*) FILTER (WHERE state = 'running' OR run_at <= counterfoil.now())
  FROM counterfoil.jobs
"""


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[PanelSimulator]:
    """A panel that listens."""
    names = tuple((squad, squad[0]) for squad in SQUADS)
    book = tmp_path / "panel.db"
    with PanelSimulator(book=book, token=TOKEN, squads=names) as panel:
        yield panel


@pytest.fixture
def worker(database: TestDatabase, panel: PanelSimulator) -> Iterator[Worker]:
    """A worker of the product's kinds; the test starts it."""
    adapter = HttpPanel(PanelWire(panel.url, TOKEN))
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


def drain(database: TestDatabase) -> None:
    """Wait until no job is left; what waits for its time is brought forward."""
    connection = database.connect()
    give_up_at = time.monotonic() + DEADLINE_SECONDS
    left = None
    while time.monotonic() < give_up_at:
        row = connection.execute(_UNFINISHED).fetchone()
        assert row is not None
        left, due = row
        if left == 0:
            return
        if due == 0:
            # Longer than any backoff that these few attempts can reach.
            database.advance(timedelta(seconds=90))
        time.sleep(0.02)
    pytest.fail(f"{left} jobs were left")


def assert_book_agrees(database: TestDatabase, panel: PanelSimulator) -> None:
    """Fail unless every request of ours has its attempt, which wrote nothing twice."""
    attempts: dict[str, int] = dict(
        database.connect()
        .execute("SELECT stream_id::text, attempts FROM counterfoil.operations")
        .fetchall()
    )
    applied: Counter[tuple[str, str, str]] = Counter()
    for request in panel.book():
        if request.request_id is None:
            continue
        operation, attempt, _ = request.request_id.rsplit(".", 2)
        assert 1 <= int(attempt) <= attempts[operation]
        if request.applied:
            applied[f"{operation}.{attempt}", request.method, request.path] += 1
    assert set(applied.values()) == {1}
