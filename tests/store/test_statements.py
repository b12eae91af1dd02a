"""One statement locks and one writes: what they promise beyond being few."""

import threading
from typing import Any

import psycopg
import pytest

from application.unit import Group, Locked
from domain.event import Instant
from domain.jobs.aggregate import Cancel, Job, Stage
from domain.stream import Change, Ref
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.locking import lock
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import until
from tests.log.plain import tickets
from tests.store.groups import (
    META,
    births,
    commanding,
    job_birth,
    operation_birth,
    step,
    written,
)

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

BURY = """
WITH gone AS (DELETE FROM counterfoil.jobs WHERE stream_id = %(id)s RETURNING *)
INSERT INTO counterfoil.jobs_dead (
       stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
       parkings, serial_order, code, correlation_id, args)
SELECT stream_id, tenant_id, version + 1, 'cancelled', kind, queue, priority, run_at,
       attempt, parkings, serial_order, 'operator', correlation_id, args
  FROM gone
"""
CANCELLED = """
INSERT INTO counterfoil.events (
       tenant_id, stream_id, version, type, schema, data, meta)
VALUES ('default', %(id)s, 2, 'job.cancelled', 1,
        '{"attempt": 0, "code": "operator"}',
        '{"actor": {"type": "system", "id": "test"}, "correlation_id": "test"}')
"""
SCANS = """
SELECT relname, seq_scan
  FROM pg_stat_user_tables
 WHERE schemaname = 'counterfoil' AND relname NOT IN ('installation', 'test_clock')
"""
CONNECTED = "SELECT FROM pg_stat_activity WHERE application_name = %s"
MISPLACED = """
SELECT count(*), count(e)
  FROM counterfoil.outbox o
  LEFT JOIN counterfoil.events e
    ON (e.position, e.stream_id, e.version, e.type)
     = (o.position, o.stream_id, o.version, o.topic)
"""


def looking_at(ref: Ref, seen: list[Stage]) -> Group:
    def look(locked: Locked, _now: Instant) -> tuple[Change, ...]:
        state = locked[ref].state if ref in locked else Job()
        assert isinstance(state, Job)
        seen.append(state.stage)
        return ()

    return Group(refs=(ref,), decide=look, meta=META)


def wait_until_blocked(connection: psycopg.Connection[Any]) -> None:
    until(
        lambda: connection.execute(
            """
            SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        ).fetchone()
    )


def test_a_job_that_dies_while_its_lock_is_waited_for_is_found_dead(
    database: TestDatabase, store: BatchStore
) -> None:
    """Two tables, one snapshot: the move is noticed, and the locks taken again."""
    job, seen = job_birth(), list[Stage]()
    store.commit([births(job)])
    killing, watching = database.connect(), database.connect()

    with killing.transaction():
        killing.execute(BURY, {"id": job.ref.id})
        killing.execute(CANCELLED, {"id": job.ref.id})
        group = looking_at(job.ref, seen)
        looking = threading.Thread(target=store.commit, args=([group],))
        looking.start()
        wait_until_blocked(watching)
    looking.join(30)

    assert seen == [Stage.CANCELLED]


def test_the_clock_is_read_after_the_last_lock(
    database: TestDatabase, store: BatchStore
) -> None:
    job, clocks = job_birth(), list[Instant]()
    store.commit([births(job)])
    holding, watching = database.connect(), database.connect()

    def look(_locked: Locked, now: Instant) -> tuple[Change, ...]:
        clocks.append(now)
        return ()

    group = Group(refs=(job.ref,), decide=look, meta=META)
    with holding.transaction():
        holding.execute(
            "SELECT FROM counterfoil.jobs WHERE stream_id = %s FOR UPDATE",
            (job.ref.id,),
        )
        looking = threading.Thread(target=store.commit, args=([group],))
        looking.start()
        wait_until_blocked(watching)
        (released,) = watching.execute("SELECT counterfoil.now()").fetchall()
    looking.join(30)

    assert clocks[0] > released[0]


def test_heads_of_every_kind_come_back_from_one_statement(
    database: TestDatabase, store: BatchStore
) -> None:
    job, dead, operation = job_birth(), job_birth(), operation_birth()
    store.commit([births(job, dead, operation)])
    store.commit([step(dead.ref, make=commanding(Cancel()))])
    unborn = Ref(job.ref.kind, new_id())
    connection = database.connect()

    with connection.transaction():
        refs = [job.ref, unborn, operation.ref, dead.ref]
        _, heads = lock(connection, refs)

    assert set(heads) == {job.ref, operation.ref, dead.ref}
    assert heads[job.ref].state == job.state
    assert heads[operation.ref].state == operation.state
    assert heads[dead.ref].state.version == 2


def test_a_message_carries_the_position_of_its_own_event(
    database: TestDatabase, store: BatchStore
) -> None:
    jobs = [job_birth() for _ in range(1_200)]
    store.commit([births(each) for each in jobs])
    silent = [job_birth() for _ in range(600)]
    ends = [step(each.ref, make=commanding(Cancel())) for each in jobs]

    mixed = [each for two in zip(ends[::2], ends[1::2], strict=True) for each in two]
    answers = store.commit(
        mixed[:900] + [births(each) for each in silent] + mixed[900:]
    )

    assert database.connect().execute(MISPLACED).fetchone() == (1_200, 1_200)
    positions = [written(each).position for each in answers]
    assert positions == sorted(positions)


def test_who_waits_for_a_unique_key_holds_back_no_reader_of_the_log(
    database: TestDatabase, store: BatchStore
) -> None:
    """Heads first: a ticket is taken only once nothing can make the unit wait."""
    other, watching = database.connect(), database.connect()
    request = '{"kind": "noop", "args": {}, "uniqueKey": "u"}'
    with other.transaction(force_rollback=True):
        other.execute("SELECT counterfoil.enqueue(%s::jsonb)", (request,))
        (his,) = tickets(watching)
        group = births(job_birth(unique_key="u"))
        waiting = threading.Thread(target=store.commit, args=([group],))
        waiting.start()
        wait_until_blocked(watching)

        assert tickets(watching) == [his]
    waiting.join(30)


def scans(connection: psycopg.Connection[Any]) -> dict[str, int]:
    connection.execute("SELECT pg_stat_clear_snapshot()")
    return dict(connection.execute(SCANS).fetchall())


def test_no_table_is_read_whole_although_it_was_small_when_planned(
    database: TestDatabase,
) -> None:
    """A plan outlives the size it was made for; nobody analyzes in this test."""
    watching = database.connect()
    watching.execute("ANALYZE")  # small, and known to be
    before = scans(watching)

    with Database(database.conninfo, pool_size=1, application_name="measured") as pool:
        store = BatchStore(pool)
        for _ in range(7):
            jobs = [job_birth() for _ in range(50)]
            store.commit([births(each) for each in jobs])
            store.commit([births(operation_birth(), operation_birth())])
            store.commit([step(each.ref, make=commanding(Cancel())) for each in jobs])
    until(lambda: not watching.execute(CONNECTED, ("measured",)).fetchall())

    assert scans(watching) == before
