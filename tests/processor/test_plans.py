"""Plans are a promise: on 50,000 rows the named indexes are used (style 2.7)."""

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest

from domain.jobs.aggregate import LARGEST_ATTEMPT
from infrastructure.ids import new_id
from infrastructure.processor import heartbeat, low_water, rescue, succeed
from infrastructure.processor.low_water import EPOCH, HEAD_STARTS
from infrastructure.processor.turns import statements
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase

pytestmark = ON_BOTH_SERVERS

FILL = """
INSERT INTO counterfoil.jobs (
       stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
       parkings, serial_key, serial_order, token, owner_host, owner_pid, owner_boot,
       cancel_requested, correlation_id, args, in_line, lease_until)
SELECT counterfoil.uuid7(), 'default', 1, s.state, 'noop', 'default', 1 + n % 4,
       counterfoil.now() + make_interval(secs => n - 5000), 0, 0,
       CASE WHEN n % 2 = 0 THEN 'key ' || n END, 0,
       CASE WHEN s.state = 'running' THEN 1 END, 'host', 1,
       CASE WHEN s.state = 'running' THEN counterfoil.uuid7() END,
       false, 'c', '{}', false,
       CASE WHEN s.state = 'running' THEN counterfoil.now() + interval '1 minute' END
  FROM generate_series(1, 50000) n,
       LATERAL (SELECT CASE WHEN n % 250 = 0 THEN 'running' ELSE 'waiting' END) s(state)
"""


@pytest.fixture
def full(database: TestDatabase) -> psycopg.Connection[Any]:
    """A table of 50,000 jobs, 200 of them running, most of them of the future."""
    connection = database.connect()
    connection.execute(FILL)
    connection.execute("ANALYZE")
    return connection


def explained(
    connection: psycopg.Connection[Any], statement: str, parameters: dict[str, object]
) -> dict[str, int]:
    """Return the indexes that a statement used, with the rows that each gave."""
    with connection.transaction(force_rollback=True):
        row = connection.execute(
            "EXPLAIN (ANALYZE, FORMAT JSON) " + statement,
            parameters,
        ).fetchone()
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    used: dict[str, int] = {}
    for node in nodes(plan[0]["Plan"]):
        rows = round(node["Actual Rows"] * node["Actual Loops"])
        if "Index Name" in node:
            used[node["Index Name"]] = used.get(node["Index Name"], 0) + rows
        elif node["Node Type"] == "Seq Scan" and node["Relation Name"] == "jobs":
            used["all of jobs"] = rows
    return used


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", []) for node in nodes(part))]


A_LOOK: dict[str, object] = {
    "queues": ["default"] * 4,
    "priorities": [1, 2, 3, 4],
    "lows": [EPOCH] * 4,
    "full_queues": ["default"],
    "kinds": ["noop"],
    "boot": new_id(),
}


def a_claim(n: int) -> dict[str, object]:
    return {
        "lows": [EPOCH] * 4,
        "head_starts": list(HEAD_STARTS),
        "queue": "default",
        "kinds": ["noop"],
        "barred": [],
        "n": n,
        "most": LARGEST_ATTEMPT,
        "host": "h",
        "pid": 1,
        "boot": new_id(),
        "claim_id": new_id(),
        "leases": '{"noop": 60}',
        "owner": "{}",
        "meta": "{}",
    }


def test_a_claim_reads_the_due_rows_that_it_needs(
    full: psycopg.Connection[Any],
) -> None:
    used = explained(full, statements.CLAIM, a_claim(10))

    assert used["jobs_claim"] <= 4 * 10
    assert "jobs_serial" in used
    assert "all of jobs" not in used


def test_an_idle_look_reads_nothing(full: psycopg.Connection[Any]) -> None:
    full.execute("UPDATE counterfoil.jobs SET run_at = run_at + interval '1 year'")
    full.execute("ANALYZE counterfoil.jobs")

    used = explained(full, low_water._LOOK, A_LOOK)  # noqa: SLF001 - see above

    assert used == {"jobs_claim": 0}


def running(connection: psycopg.Connection[Any], n: int) -> list[Any]:
    rows = connection.execute(
        "SELECT stream_id FROM counterfoil.jobs WHERE state = 'running' LIMIT %s", (n,)
    )
    return [row[0] for row in rows]


def test_a_heartbeat_finds_its_rows_by_their_key(
    full: psycopg.Connection[Any],
) -> None:
    ids = running(full, 30)
    asked: dict[str, object] = {
        "ids": ids,
        "tokens": [1] * 30,
        "leases": [60] * 30,
        "progresses": [None] * 30,
    }

    used = explained(full, heartbeat._BEAT, asked)  # noqa: SLF001 - see above

    assert "all of jobs" not in used
    assert sum(used.values()) <= 200 + 4 * 30  # by id, or all that run


def test_a_success_finds_its_rows_by_their_key(full: psycopg.Connection[Any]) -> None:
    ids = running(full, 30)
    asked: dict[str, object] = {
        "ids": ids,
        "tokens": [1] * 30,
        "results": [None] * 30,
        "message_ids": [new_id() for _ in ids],
        "actor": "{}",
        "commit_id": str(new_id()),
    }

    used = explained(full, succeed._SUCCEED, asked)  # noqa: SLF001 - see above

    assert "all of jobs" not in used
    assert used["jobs_pkey"] <= 4 * 30


def test_a_rescue_reads_the_running_rows_only(full: psycopg.Connection[Any]) -> None:
    asked: dict[str, object] = {
        "kinds": ["noop"],
        "silences": [30],
        "page": 100,
        "after_tenant": "",
        "after": UUID(int=0),
    }

    used = explained(full, rescue._EXPIRED, asked)  # noqa: SLF001 - see above

    assert "all of jobs" not in used
    assert used["jobs_running"] <= 200


def test_a_bounded_look_and_claim_walk_over_no_dead_rows(
    database: TestDatabase,
) -> None:
    """Mechanisms 17, S27: finished rows that an old snapshot keeps cost nothing."""
    connection, old = database.connect(), database.connect()
    connection.execute(FILL)
    connection.execute("UPDATE counterfoil.jobs SET run_at = run_at - interval '1 day'")
    connection.execute("DELETE FROM counterfoil.jobs WHERE state = 'running'")
    connection.execute("VACUUM ANALYZE counterfoil.jobs")
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    old.execute("SELECT count(*) FROM counterfoil.jobs")
    connection.execute(
        """
        DELETE FROM counterfoil.jobs
         WHERE run_at < (SELECT max(run_at) - interval '5 s' FROM counterfoil.jobs)
        """
    )
    (low,) = connection.execute("SELECT min(run_at) FROM counterfoil.jobs").fetchall()[
        0
    ]
    for statement, asked in ((low_water._LOOK, A_LOOK), (statements.CLAIM, a_claim(1))):  # noqa: SLF001 - see above
        unbounded = pages(connection, statement, asked)
        bounded = pages(connection, statement, asked | {"lows": [low] * 4})
        assert unbounded > 1_000
        assert bounded < unbounded / 5
    old.execute("COMMIT")


def pages(
    connection: psycopg.Connection[Any], statement: str, parameters: dict[str, object]
) -> int:
    """Return how many pages a statement looks at."""
    with connection.transaction(force_rollback=True):
        row = connection.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement, parameters
        ).fetchone()
    assert row is not None
    top = row[0][0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])
