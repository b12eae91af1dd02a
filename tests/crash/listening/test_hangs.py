"""Processes that hang are found out by their probes."""

import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.client import Client
from infrastructure.postgres.database import connect
from infrastructure.telemetry.pulse import MISSED, PERIOD_SECONDS
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.processes import ROOT, start
from tests.fixtures.proxy import Proxy, proxy
from tests.fixtures.workers import until
from tests.listening.asking import address_of, ask
from tests.performance.shop import order

__all__ = ["proxy"]

pytestmark = [pytest.mark.database, pytest.mark.crash]

ORDERS = 100
SMALL = 4_096


@pytest.fixture
def environment(database: TestDatabase, tmp_path: Path) -> dict[str, str]:
    return {
        "COUNTERFOIL_DATABASE_URL": database.url,
        "COUNTERFOIL_DATA_DIR": str(tmp_path / "var"),
        "COUNTERFOIL_WORKER_HTTP_ADDR": "127.0.0.1:0",
    }


@pytest.fixture
def counterfoil(environment: dict[str, str]) -> Iterator[Command]:
    command = Command(**environment)
    yield command
    command.close()


def test_a_frozen_process_answers_no_probe_until_it_goes_on(
    counterfoil: Command,
) -> None:
    worker = counterfoil.start("worker", "--json")
    address = address_of(worker)
    until(lambda: ask(address, "/readyz").status == 200)

    worker.send(signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        ask(address, "/livez", within_s=2.0)
    worker.send(signal.SIGCONT)

    until(lambda: ask(address, "/livez").status == 200)


def test_a_worker_whose_database_hangs_is_alive_and_not_ready(
    counterfoil: Command, proxy: Proxy
) -> None:
    worker = counterfoil.start(
        "worker", "--json", COUNTERFOIL_DATABASE_URL=proxy.conninfo
    )
    address = address_of(worker)
    until(lambda: ask(address, "/readyz").status == 200)
    began_at = time.monotonic()

    with proxy.stalled():
        unready = until(lambda: (it := ask(address, "/readyz")).status == 503 and it)
        assert unready.flaws["database"] == "timeout"
        # For longer than any loop may fail to come round.
        until(
            lambda: (
                ask(address, "/livez").status != 200
                or time.monotonic() - began_at > (MISSED + 1) * PERIOD_SECONDS
            )
        )
        alive = ask(address, "/livez")

    assert alive.status == 200
    until(lambda: ask(address, "/readyz").status == 200)


def test_a_loop_that_hangs_turns_liveness_red(
    environment: dict[str, str], database: TestDatabase
) -> None:
    """Nobody reads its log any more: whoever tells something waits for ever."""
    told, telling = os.pipe()
    fcntl.fcntl(telling, fcntl.F_SETPIPE_SZ, SMALL)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("COUNTERFOIL_")}
    with os.fdopen(telling, "w") as stderr:
        worker = start(
            "api",
            ["worker", "--json"],
            environment=kept | environment | {"PYTHONPATH": str(ROOT)},
            stderr=stderr,
        )
    try:
        assert worker.stdout is not None
        address = json.loads(worker.stdout.readline())["probes"]
        until(lambda: ask(address, "/readyz").status == 200)
        assert ask(address, "/livez").status == 200
        with connect(database.conninfo) as connection:
            client = Client(connection)
            for n in range(ORDERS):
                client.settle_order(order(n))

        dead = until(lambda: (it := ask(address, "/livez")).status == 503 and it)

        assert "settle" in dead.flaws
        assert set(dead.flaws.values()) == {"stuck"}
    finally:
        worker.kill()
        worker.wait()
        assert worker.stdout is not None
        worker.stdout.close()
        os.close(told)
