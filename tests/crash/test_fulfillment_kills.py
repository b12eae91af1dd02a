"""SIGKILL at every step of an order's way to the panel (I2, I3, I4).

Each step is reached without any hook in the product: the test holds a lock that the
worker's next statement needs, or stops the request inside the simulated panel, waits
until the worker is seen to wait there, and kills it.  Judge is the panel's own book.
"""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from infrastructure.client import Client
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.fixtures.database import TestDatabase
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.processes import ROOT, Process, start
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import descendants, until, wait_gone

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

TOKEN = "a-token"  # noqa: S105 - the simulated panel takes any
PAST_THE_LEASE = timedelta(seconds=75)
ORDER = {
    "orderId": "order-1",
    "customerId": "customer-1",
    "kind": "purchase",
    "currency": "EUR",
    "amountMinor": 1299,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


@dataclass
class Scene:
    """One order, one panel, and workers that are killed."""

    database: TestDatabase
    panel: PanelSimulator
    folder: Path
    workers: list[Process]

    def settle(self) -> None:
        with self.connection() as connection:
            Client(connection).settle_order(ORDER)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self.database.conninfo, autocommit=True) as connection:
            yield connection

    def start_worker(
        self, conninfo: str | None = None, more: Mapping[str, str] | None = None
    ) -> Process:
        log = (self.folder / f"worker-{len(self.workers)}.log").open("wb")
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "COUNTERFOIL_DATABASE_URL": conninfo or self.database.conninfo,
            "COUNTERFOIL_REMNAWAVE_URL": self.panel.url,
            "COUNTERFOIL_REMNAWAVE_TOKEN": TOKEN,
            **(more or {}),
        }
        worker = start(
            "api", ["worker"], environment=environment, stdout=log, stderr=log
        )
        log.close()
        self.workers.append(worker)
        return worker

    def kill(self, pid: int | None = None) -> None:
        """End the newest worker, or that of `pid`, and return when it is all gone."""
        newest = self.workers[-1]
        worker = next((each for each in self.workers if each.pid == pid), newest)
        cells = descendants(worker.pid)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        wait_gone(cells)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connection() as connection:
            return connection.execute(statement.encode()).fetchall()

    def operation_is(self, state: str) -> bool:
        return self.rows("SELECT state FROM counterfoil.operations") == [(state,)]

    def somebody_waits_for_a_lock(self) -> bool:
        return (
            self.rows(
                """
            SELECT 1
              FROM pg_locks l
              JOIN pg_stat_activity a USING (pid)
             WHERE NOT l.granted
               AND a.application_name LIKE 'counterfoil%'
               AND a.datname = current_database()
            """
            )
            != []
        )

    @contextmanager
    def blocked(self, statement: str) -> Iterator[None]:
        """Hold what `statement` locks while the block runs."""
        with (
            psycopg.connect(self.database.conninfo) as holder,
            holder.transaction(),
        ):
            assert holder.execute(statement.encode()).rowcount != 0
            yield


@contextmanager
def staged(database: TestDatabase, folder: Path, **panel: Any) -> Iterator[Scene]:  # noqa: ANN401 - the simulator checks them
    """A panel with these options, and workers that end with the block."""
    with PanelSimulator(
        book=folder / "panel.sqlite", token=TOKEN, **panel
    ) as simulator:
        scene = Scene(database, simulator, folder, [])
        try:
            yield scene
        finally:
            for worker in scene.workers:
                if worker.poll() is None:
                    worker.kill()
                worker.wait()


@pytest.fixture
def scene(database: TestDatabase, tmp_path: Path) -> Iterator[Scene]:
    with staged(database, tmp_path) as scene:
        yield scene


def _kill_before_the_claim_commits(scene: Scene) -> None:
    # The claim's insert into the log has to wait, its rows are locked already.
    with scene.blocked("LOCK TABLE counterfoil.events IN SHARE MODE"):
        scene.start_worker()
        until(scene.somebody_waits_for_a_lock)
        scene.kill()


def _fan_out(scene: Scene) -> None:
    """Let one worker decide the order, and stop before anything is fulfilled."""
    with scene.blocked("LOCK TABLE counterfoil.operations IN SHARE MODE"):
        scene.start_worker()
        until(scene.somebody_waits_for_a_lock)
        scene.kill()
    scene.database.advance(PAST_THE_LEASE)


def _kill_after_the_claim(scene: Scene) -> None:
    hold = scene.panel.hold("GET", "/api/users", when="before")
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    scene.kill()
    hold.release(drop=True)
    scene.database.advance(PAST_THE_LEASE)
    # The next one claims it again, and dies before it has recorded its attempt.
    with scene.blocked("SELECT 1 FROM counterfoil.entitlements FOR UPDATE"):
        scene.start_worker()
        until(scene.somebody_waits_for_a_lock)
        scene.kill()


def _kill_before_the_call(scene: Scene) -> None:
    hold = scene.panel.hold("GET", "/api/users", when="before")
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    scene.kill()
    hold.release(drop=True)


def _kill_before_the_write_is_applied(scene: Scene) -> None:
    hold = scene.panel.hold("POST", "/api/users", when="before")
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    scene.kill()
    hold.release()  # the panel carries out what a client that is gone has asked


def _kill_after_the_panel_applied_it(scene: Scene) -> None:
    hold = scene.panel.hold("POST", "/api/users", when="after")
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    scene.kill()
    hold.release(drop=True)


def _kill_before_the_record(scene: Scene) -> None:
    hold = scene.panel.hold("POST", "/api/users", when="after")
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    with scene.blocked("SELECT 1 FROM counterfoil.orders FOR UPDATE"):
        hold.release()
        until(scene.somebody_waits_for_a_lock)
        scene.kill()


def _kill_after_the_record(scene: Scene) -> None:
    scene.start_worker()
    until(lambda: scene.operation_is("succeeded"))
    scene.kill()


STEPS: dict[str, Callable[[Scene], None]] = {
    "before the claim commits": _kill_before_the_claim_commits,
    "while the fan-out commits": _fan_out,
    "after the claim": _kill_after_the_claim,
    "before the call": _kill_before_the_call,
    "before the write is applied": _kill_before_the_write_is_applied,
    "after the panel applied it": _kill_after_the_panel_applied_it,
    "before the record": _kill_before_the_record,
    "after the record": _kill_after_the_record,
}


@pytest.mark.parametrize("step", STEPS)
def test_one_panel_user_whatever_step_a_worker_is_killed_at(
    scene: Scene, step: str
) -> None:
    """I2, I3, I4: one user, the operation succeeds, at most one attempt is lost."""
    scene.settle()

    STEPS[step](scene)
    scene.database.advance(PAST_THE_LEASE)
    scene.start_worker()
    until(lambda: scene.operation_is("succeeded"))

    _assert_delivered_once(scene)


def _assert_delivered_once(scene: Scene) -> None:
    until(lambda: scene.rows("SELECT 1 FROM counterfoil.jobs") == [])
    users = scene.panel.users()
    assert len(users) == 1
    ((ends_at,),) = scene.rows(
        "SELECT (desired->>'ends_at')::timestamptz FROM counterfoil.entitlements"
    )
    milliseconds = ends_at.microsecond // 1000
    assert users[0].expire_at == f"{ends_at:%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"
    assert scene.rows("SELECT state FROM counterfoil.orders") == [("fulfilled",)]
    _assert_book_and_log_agree(scene)
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)


def _assert_book_and_log_agree(scene: Scene) -> None:
    logged = {
        f"{row[0]}.{row[1]}"
        for row in scene.rows(
            """
            SELECT stream_id, data->>'attempt' FROM counterfoil.events
             WHERE type = 'fulfillment.attempt_started'
            """
        )
    }
    booked = [request for request in scene.panel.book() if request.request_id]
    attempts = {str(each.request_id).rpartition(".")[0] for each in booked}
    assert attempts <= logged
    applied = [
        (str(each.request_id).rpartition(".")[0], each.method)
        for each in booked
        if each.applied
    ]
    assert len(applied) == len(set(applied))
    assert [method for _, method in applied].count("POST") == 1
    # Each killed attempt that had begun is on record, and none was added to it.
    assert len(logged) <= len(scene.workers) + 1
    ((spent,),) = scene.rows(
        """
        SELECT (data->>'attempt')::int FROM counterfoil.events
         WHERE type = 'job.succeeded'
         ORDER BY position DESC LIMIT 1
        """
    )
    assert spent <= 2


def test_a_commit_whose_answer_was_cut_is_found_out_and_not_repeated(
    scene: Scene, proxy: Proxy
) -> None:
    """I2: COMMIT is sent, its answer is lost, the worker lives and looks it up."""
    scene.settle()
    hold = scene.panel.hold("POST", "/api/users", when="after")
    worker = scene.start_worker(proxy.conninfo)
    hold.wait_arrived(timeout_s=40)

    cut = proxy.cut_commit_answer(of="fulfillment.succeeded")
    hold.release()
    cut.wait()
    until(lambda: scene.operation_is("succeeded"))

    _assert_delivered_once(scene)
    assert worker.poll() is None
    assert [row[0] for row in scene.rows(
        "SELECT count(*) FROM counterfoil.events WHERE type = 'fulfillment.succeeded'"
    )] == [1]  # fmt: skip


def test_a_worker_that_is_thawed_and_stopped_at_once_ends_politely(
    scene: Scene,
) -> None:
    """A SIGTERM that arrives while the main thread is still stopped is heard."""
    worker = scene.start_worker()
    log = scene.folder / "worker-0.log"
    until(lambda: b"worker started" in log.read_bytes())
    for _ in range(3):
        worker.send_signal(signal.SIGSTOP)
        until(lambda: _is_stopped(worker.pid))
        worker.send_signal(signal.SIGCONT)

    worker.send_signal(signal.SIGSTOP)
    until(lambda: _is_stopped(worker.pid))
    worker.send_signal(signal.SIGCONT)
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(timeout=30) == 0


def _is_stopped(pid: int) -> bool:
    return "T (stopped)" in Path(f"/proc/{pid}/status").read_text()
