"""Who parks and who unparks in one moment: no job twice, and none forgotten.

A transaction is stopped at its COMMIT, with everything written: a deferred trigger of
the test waits there for a lock that the test holds.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from application.unit import Group, Result
from domain.jobs.outcome import Gated
from domain.maintenance.gates import PANEL
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.processor.gates.unparking import Unparker
from infrastructure.processor.settler import Ended
from tests.fixtures.database import TestDatabase
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.workers import enqueue, history, until
from tests.processor.rig import Rig

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

GATED = Gated(gate=PANEL, cause="maintenance_active")
PATIENCE_S = 30

STOP = """
CREATE FUNCTION public.wait_at_commit() RETURNS trigger LANGUAGE plpgsql
SET lock_timeout = 0 AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(42);
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON counterfoil.events
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.type = {})
    EXECUTE FUNCTION public.wait_at_commit();
"""
WAITING = """
SELECT count(*) FROM pg_locks
 WHERE locktype = 'advisory' AND objid = 42 AND NOT granted
"""


@contextmanager
def stopped_at_commit(
    parts: Rig, tag: str, work: Callable[[], object]
) -> Iterator[Future[object]]:
    """Do `work` in another thread, up to the COMMIT of an event of `tag`.

    It commits when the block ends.
    """
    connection = parts.database.connect()
    connection.execute(psycopg.sql.SQL(STOP).format(tag))
    connection.execute("SELECT pg_advisory_lock(42)")
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        try:
            until(lambda: connection.execute(WAITING).fetchall() == [(1,)])
            yield done
        finally:
            connection.execute("SELECT pg_advisory_unlock(42)")
        done.result(PATIENCE_S)
    connection.execute("DROP FUNCTION public.wait_at_commit CASCADE")


def gated(parts: Rig) -> None:
    """Let what is due find the gate closed."""
    parts.settler.settle([Ended(each, GATED) for each in parts.claim(100)])


def test_a_gate_that_opens_while_a_job_is_being_parked_forgets_it_not(
    database: TestDatabase, parts: Rig
) -> None:
    maintenance = Maintenance(database)
    maintenance.begin()
    job = enqueue(parts.connection, "noop")

    with stopped_at_commit(parts, "job.parked", lambda: gated(parts)):
        maintenance.end()
        assert parts.unparker.round() == 0  # it is not there yet
    assert history(parts.connection, job)[-1] == "parked"

    assert parts.unparker.round() == 1


def test_a_gate_that_opened_before_a_job_is_parked_forgets_it_not(
    database: TestDatabase, parts: Rig
) -> None:
    """The handler had found it closed; its word was on its way."""
    maintenance = Maintenance(database)
    maintenance.begin()
    job = enqueue(parts.connection, "noop")
    (claimed,) = parts.claim()
    maintenance.end()
    assert parts.unparker.round() == 0

    parts.settle(claimed, GATED)

    assert history(parts.connection, job)[-1] == "parked"
    assert parts.unparker.round() == 1


def test_who_is_parked_while_others_are_unparked_is_not_forgotten(parts: Rig) -> None:
    """The round goes on to the page behind, and the next one begins anew."""
    first = enqueue(parts.connection, "noop")
    gated(parts)

    with stopped_at_commit(parts, "job.unparked", parts.unparker.round) as done:
        second = enqueue(parts.connection, "noop")
        gated(parts)
        assert not done.done()
    assert done.result() == 2

    assert parts.unparker.round() == 0
    assert history(parts.connection, first)[-1] == "unparked"
    assert history(parts.connection, second)[-1] == "unparked"


def test_what_another_is_unparking_is_passed_over(parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    gated(parts)

    with (
        stopped_at_commit(parts, "job.unparked", parts.unparker.round),
        Database(parts.database.conninfo, pool_size=1) as pool,
    ):
        assert Unparker(pool, BatchStore(pool), parts.actor).round() == 0


def test_a_gate_that_closes_while_jobs_are_unparked_costs_them_one_look(
    database: TestDatabase, parts: Rig
) -> None:
    maintenance = Maintenance(database)
    job = enqueue(parts.connection, "noop")
    gated(parts)

    with stopped_at_commit(parts, "job.unparked", parts.unparker.round):
        maintenance.begin()
    until(
        lambda: (
            parts.connection.execute(
                "SELECT run_at <= counterfoil.now() FROM counterfoil.jobs"
            ).fetchall()
            == [(True,)]
        )
    )
    gated(parts)

    assert parts.unparker.round() == 0
    once = ["claimed", "parked"]
    assert history(parts.connection, job) == ["enqueued", *once, "unparked", *once]
    maintenance.end()


class Together:
    """Units of work whose first commit waits for that of another."""

    def __init__(self, store: BatchStore, barrier: threading.Barrier) -> None:
        self._store = store
        self._barrier: threading.Barrier | None = barrier

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        if self._barrier is not None:
            self._barrier.wait(PATIENCE_S)
            self._barrier = None
        return self._store.commit(groups)


def test_two_workers_that_unpark_at_once_do_it_once(parts: Rig) -> None:
    """Both have read a page before either commits; keys part the pages."""
    for n in range(250):
        enqueue(parts.connection, "noop", serialKey=f"k{n % 90}")
    while parts.connection.execute(
        "SELECT 1 FROM counterfoil.jobs WHERE gate IS NULL LIMIT 1"
    ).fetchall():
        gated(parts)
    barrier = threading.Barrier(2)

    def unpark() -> int:
        with Database(parts.database.conninfo, pool_size=2) as pool:
            units = Together(BatchStore(pool), barrier)
            return Unparker(pool, units, parts.actor).round()

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(unpark) for _ in range(2)]
        unparked = [each.result(PATIENCE_S) for each in done]

    assert sum(unparked) == 250
    rows = parts.connection.execute(
        "SELECT stream_id FROM counterfoil.events WHERE type = 'job.unparked'"
    ).fetchall()
    assert len(rows) == len(Counter(rows)) == 250
    assert parts.unparker.round() == 0
