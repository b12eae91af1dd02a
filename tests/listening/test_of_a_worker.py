"""The probes of real workers."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import until
from tests.listening.asking import address_of, ask

pytestmark = pytest.mark.database

HERE = {"COUNTERFOIL_WORKER_HTTP_ADDR": "127.0.0.1:0"}


@pytest.fixture
def counterfoil(database: TestDatabase, tmp_path: Path) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        COUNTERFOIL_DATA_DIR=str(tmp_path / "var"),
        **HERE,
    )
    yield command
    command.close()


def test_a_worker_is_ready_once_all_its_parts_are(counterfoil: Command) -> None:
    address = address_of(counterfoil.start("worker", "--json"))

    ready = until(lambda: (it := ask(address, "/readyz")).status == 200 and it)

    assert set(ready.told["checks"]) == {"database", "pool", "jobs", "projections"}
    started, alive = ask(address, "/startupz"), ask(address, "/livez")
    assert (started.status, alive.status) == (200, 200)
    assert set(started.told["checks"]) == {"schema"}
    loops = {"claim", "settle", "heartbeat", "projections"}
    assert set(alive.told["checks"]) == loops


def test_what_only_projects_is_asked_for_nothing_else(counterfoil: Command) -> None:
    worker = counterfoil.start("worker", "--only", "projections", "--json")
    address = address_of(worker)

    ready = until(lambda: (it := ask(address, "/readyz")).status == 200 and it)

    assert set(ready.told["checks"]) == {"database", "pool", "projections"}
    assert set(ask(address, "/livez").told["checks"]) == {"projections"}


def test_who_was_asked_to_stop_is_not_ready_while_work_drains(
    counterfoil: Command, database: TestDatabase
) -> None:
    """The worker is held up: the row by which it says good-bye is locked."""
    worker = counterfoil.start("worker", "--json")
    address = address_of(worker)
    until(lambda: ask(address, "/readyz").status == 200)
    holder = database.connect()
    with holder.transaction():
        holder.execute("LOCK TABLE counterfoil.workers IN EXCLUSIVE MODE")
        worker.send(signal.SIGTERM)
        worker.wait_for('"event": "worker stopping"')

        ready, alive = ask(address, "/readyz"), ask(address, "/livez")

    assert (ready.status, ready.flaws) == (503, {"draining": "draining"})
    assert alive.status == 200
    assert worker.end().code == 0


def test_a_schema_of_another_version_is_no_start(
    counterfoil: Command, database: TestDatabase
) -> None:
    address = address_of(counterfoil.start("worker", "--json"))
    connection = database.connect()
    connection.execute(
        """
        INSERT INTO counterfoil.schema_migrations
        SELECT number + 1, 'later', checksum, applied_at, adopted
          FROM counterfoil.schema_migrations
         ORDER BY number DESC
         LIMIT 1
        """
    )

    started = until(lambda: (it := ask(address, "/startupz")).status == 503 and it)

    assert started.flaws == {"schema": "outdated"}


def test_an_address_that_cannot_be_taken_stops_the_start(counterfoil: Command) -> None:
    result = counterfoil("worker", COUNTERFOIL_WORKER_HTTP_ADDR="192.0.2.1:1")

    assert result.code == 1
    assert "COUNTERFOIL_WORKER_HTTP_ADDR: cannot listen at" in result.complaint()


def test_unset_nobody_listens(counterfoil: Command) -> None:
    worker = counterfoil.start("worker", "--json", COUNTERFOIL_WORKER_HTTP_ADDR="")

    assert '"probes":null' in worker.wait_for('"probes"')


def test_a_person_is_told_where_to_ask(counterfoil: Command) -> None:
    worker = counterfoil.start("worker")

    assert "http://127.0.0.1:" in worker.wait_for("probes and metrics: ")
