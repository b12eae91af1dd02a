"""The floor is fair: it writes the rows that the product writes, column by column."""

import threading
from typing import Any

import msgspec
import psycopg

from application.context import Context
from application.job_kinds import JobKind, by_name
from bench import floor
from bench.drain import require_drained
from domain.jobs.outcome import Completed, Outcome
from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.telemetry import listen
from tests.fixtures.database import TestDatabase

SHAPES = """
SELECT type, schema, version, tenant_id,
       (SELECT array_agg(k || ':' || jsonb_typeof(data->k) ORDER BY k)
          FROM jsonb_object_keys(data) k),
       (SELECT array_agg(k || ':' || jsonb_typeof(meta->k) ORDER BY k)
          FROM jsonb_object_keys(meta) k)
  FROM counterfoil.events
 ORDER BY position
"""
MESSAGES = """
SELECT topic, version, data - 'job_id' FROM counterfoil.outbox ORDER BY position
"""
# What the two sides may differ in: ids and instants.
HEADS = """
SELECT array_agg(k || '=' || v ORDER BY k)
  FROM counterfoil.jobs j, jsonb_each_text(to_jsonb(j)) AS t(k, v)
 WHERE k NOT IN ('stream_id', 'run_at', 'correlation_id')
 GROUP BY j.stream_id
"""
JOBS = 7


def test_bulk_rows_of_the_floor_are_those_of_the_front_door(
    database: TestDatabase,
) -> None:
    connection = database.connect()

    connection.execute("""SELECT counterfoil.enqueue('{"kind": "noop", "args": {}}')""")
    enqueue_by_floor(connection, 1)

    by_door, by_floor = connection.execute(SHAPES).fetchall()
    assert by_floor == by_door
    (door_head,), (floor_head,) = connection.execute(HEADS).fetchall()
    assert floor_head == door_head


def test_a_drain_by_the_floor_leaves_the_rows_of_a_worker(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    connection.execute(floor.CREATE_FLOOR)
    enqueue_by_floor(connection, JOBS)
    connection.execute(floor.DRAIN, {"batch": JOBS})
    require_drained(connection, JOBS)
    by_floor = connection.execute(SHAPES).fetchall()
    told_by_floor = connection.execute(MESSAGES).fetchall()
    enqueue_by_floor(connection, JOBS)

    work_off(database, JOBS)

    require_drained(connection, 2 * JOBS)
    by_worker = connection.execute(SHAPES).fetchall()[len(by_floor) :]
    assert by_worker == by_floor
    assert connection.execute(MESSAGES).fetchall()[JOBS:] == told_by_floor


def enqueue_by_floor(connection: psycopg.Connection[Any], jobs: int) -> None:
    ids = [new_id() for _ in range(jobs)]
    connection.execute(
        floor.ENQUEUE, {"ids": ids, "args": ["{}"] * jobs, "commit_id": str(new_id())}
    )


def work_off(database: TestDatabase, jobs: int) -> None:
    settled = threading.Semaphore(0)

    def heard(event: str, values: dict[str, Any]) -> None:
        if event == "jobs settled":
            settled.release(values["jobs"])

    def handle(_args: msgspec.Struct, _ctx: Context) -> Outcome:
        return Completed()

    kinds = by_name(JobKind(name="noop", args=msgspec.Struct, handler=handle))
    with Database(database.conninfo, pool_size=2) as pool, listen(heard):
        worker = Worker(pool, kinds, WorkerOptions(queues={"default": 2}))
        worker.start()
        for _ in range(jobs):
            assert settled.acquire(timeout=30)
        worker.stop()
