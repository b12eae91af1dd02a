"""A projector finds what it needs by its indexes, also where nobody ever analyzed."""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from infrastructure.postgres.database import Database, transaction
from infrastructure.projecting.projector import Projector
from projections.read_models.jobs import Jobs
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

FILL: Final = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
SELECT 'default', counterfoil.uuid7(), 1, 'job.enqueued', 1,
       '{"kind": "k", "queue": "q", "priority": 1, "args": {}, "unique_key": null,
         "serial_key": null, "serial_order": 0, "run_at": "2026-01-01T00:00:00Z",
         "max_attempts": null, "deadline": null}',
       '{"actor": {"type": "system", "id": "test"}, "correlation_id": "c"}'
  FROM generate_series(1, 20000)
"""

AUTO_EXPLAIN: Final = """
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on;
SET client_min_messages = log
"""


@pytest.fixture
def opened(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=1) as opened:
        yield opened


def test_a_batch_of_a_long_log_reads_its_own_positions_alone(
    opened: Database, database: TestDatabase
) -> None:
    database.connect().execute(FILL)
    projector, jobs = Projector(opened), Jobs()
    for _ in range(7):  # beyond the fifth a plan may become generic
        projector.advance(jobs, most=100)
    plans: list[str] = []

    with opened.connection() as connection:
        listen(connection, plans)
    projector.advance(jobs, most=100)

    (read,) = [plan for plan in plans if "counterfoil.events" in plan]
    assert "events_position" in read
    assert "rows=100.00 loops=1" in read or "rows=100 loops=1" in read
    assert all("Seq Scan" not in plan for plan in plans)


def listen(connection: psycopg.Connection[Any], plans: list[str]) -> None:
    connection.add_notice_handler(
        lambda notice: plans.append(notice.message_primary or "")
    )
    connection.execute(AUTO_EXPLAIN)


def test_rows_are_looked_up_by_their_keys_one_by_one(
    opened: Database, database: TestDatabase
) -> None:
    database.connect().execute(FILL)
    projector, jobs = Projector(opened), Jobs()
    projector.advance(jobs, most=20_000)
    table = projector.target(jobs, "a").table
    keys = database.connect().execute(
        "SELECT stream_id FROM counterfoil.read_jobs_a LIMIT 500"
    )
    wanted = [tuple(row) for row in keys.fetchall()]
    plans: list[str] = []
    with opened.connection() as connection, transaction(connection, keyed=True):
        listen(connection, plans)
        rows = table.load(connection, wanted)
        table.delete(connection, wanted)

    assert set(rows) == set(wanted)
    load, delete = plans[-2:]
    assert "read_jobs_a_pkey" in load
    assert "read_jobs_a_pkey" in delete
    assert "Tid Scan" in delete
