"""S13: the database restarts under load, and no worker needs a restart."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from infrastructure.embedded import lifecycle
from infrastructure.embedded.place import Place, lasting_place
from infrastructure.postgres.database import connect
from infrastructure.postgres.migrator import migrate
from tests.fixtures.effects import EffectBook, enqueue_booked
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.workers import WorkerProcess, until, worker_here
from tests.processor.rig import NOOP

pytestmark = pytest.mark.crash

JOBS = 1_500
# The machine stays up, so what was written is there without being forced to disk.
OPTIONS = {"fsync": "off", "synchronous_commit": "on", "full_page_writes": "off"}


@dataclass
class OwnServer:
    """A server of this test alone."""

    place: Place
    uri: str

    def restart(self, how: signal.Signals) -> None:
        assert lifecycle.stop(self.place, how)
        assert lifecycle.start(self.place, None, OPTIONS) == self.uri

    def end_all_backends(self) -> None:
        with closing(connect(self.uri)) as connection:
            connection.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
                """
            )


@pytest.fixture
def own_server() -> Iterator[OwnServer]:
    outside = Path(tempfile.mkdtemp(prefix="counterfoil-test-"))
    outside.chmod(0o755)
    place = lasting_place(outside / "var")
    try:
        uri = lifecycle.start(place, None, OPTIONS)
        migrate(uri)
        yield OwnServer(place, uri)
    finally:
        lifecycle.stop(place, signal.SIGQUIT)
        place.give_sockets_back()
        shutil.rmtree(outside)


def test_s13_restarts_and_ended_backends_are_survived_by_both_workers(
    own_server: OwnServer, tmp_path: Path
) -> None:
    book = EffectBook(tmp_path / "effects")
    with closing(connect(own_server.uri)) as connection:
        enqueue_booked(connection, JOBS)
    workers = [
        WorkerProcess(own_server.uri, book=str(book.folder), queues={"default": 4})
        for _ in range(2)
    ]
    try:
        for worker in workers:
            worker.wait_ready()
        done(book, 100)
        own_server.restart(signal.SIGINT)
        done(book, 300)
        own_server.end_all_backends()
        done(book, 500)
        own_server.restart(signal.SIGQUIT)
        done(book, 700)
        own_server.end_all_backends()
        done(book, 900)
        own_server.restart(signal.SIGQUIT)
        done(book, JOBS)
        with closing(connect(own_server.uri)) as connection:
            until(lambda: is_drained(connection))
            book.judge(connection, JOBS)
            lost = connection.execute(
                """
                SELECT count(*) FROM counterfoil.events
                 WHERE type = 'job.lease_expired'
                """
            ).fetchone()
            assert lost == (0,)  # every claim was adopted, or never happened
            assert len(book.effects()) == JOBS
            assert_heads_equal_folds(connection)
        assert all(worker.is_alive() for worker in workers)
    finally:
        for worker in workers:
            worker.close()


def done(book: EffectBook, n: int) -> None:
    until(lambda: len(book.effects()) >= n, within_s=60)


def is_drained(connection: psycopg.Connection[object]) -> bool:
    return not connection.execute("SELECT 1 FROM counterfoil.jobs LIMIT 1").fetchone()


def test_s13_a_worker_is_not_ready_while_the_database_is_away(
    own_server: OwnServer,
) -> None:
    with worker_here(own_server.uri, NOOP) as (worker, events):
        until(worker.is_ready)
        assert lifecycle.stop(own_server.place, signal.SIGINT)
        until(lambda: not worker.is_ready())
        lifecycle.start(own_server.place, None, OPTIONS)
        until(worker.is_ready)
        # By whoever asked it first while it was away.
        assert events.of("claim lost the database") or events.of(
            "heartbeat lost the database"
        )
