"""One job, asked for in SQL: what it writes, and the unique key's only live job."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings

from domain.jobs.aggregate import Enqueue
from domain.members import read_instant
from domain.stream import StreamKind
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.front_door import rows
from tests.front_door.asked import Request, jobs
from tests.front_door.faults import nested
from tests.front_door.rows import Connection
from tests.limits.room import limit

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

IN_A_LOOP = """
DO $$
BEGIN
    FOR n IN 1 .. 50000 LOOP
        PERFORM counterfoil.enqueue(
            jsonb_build_object('kind', 'mail', 'uniqueKey', n::text));
    END LOOP;
END
$$
"""
TICKETS = """
SELECT count(*)
  FROM pg_locks
 WHERE locktype = 'advisory' AND pid = %s
"""


def enqueue(connection: Connection, request: Request) -> dict[str, Any]:
    (answer,) = rows.one(
        connection, "SELECT counterfoil.enqueue(%s::jsonb)", json.dumps(request)
    )
    return dict(answer)


def command(request: Request, at: datetime) -> Enqueue:
    """Return the command that a request means, at the instant of the call."""
    run_at = read_instant(request.get("runAt"), "runAt")
    return Enqueue(
        kind=request["kind"],
        args=request.get("args", {}),
        run_at=at if run_at is None else max(run_at, at),
        queue=request.get("queue", "default"),
        priority=request.get("priority", 1),
        unique_key=request.get("uniqueKey"),
        serial_key=request.get("serialKey"),
        concurrency_limit=request.get("concurrencyLimit") or 1,
        max_attempts=request.get("maxAttempts"),
        deadline=read_instant(request.get("deadline"), "deadline"),
    )


@given(request=jobs)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_an_enqueue_writes_what_decide_says(
    connection: Connection, request: Request
) -> None:
    with connection.transaction(force_rollback=True):
        answer = enqueue(connection, request)

        written = {table: rows.stored(connection, table) for table in rows.TABLES}
        (event,), (head,) = written["events"], written["jobs"]
        correlation = request.get("correlationId") or f"job:{answer['jobId']}"
        job = rows.born_job(
            command(request, rows.instant(event["recorded_at"])),
            UUID(answer["jobId"]),
            request.get("tenant", "default"),
            rows.meta_of(connection, correlation, event["meta"]["commit_id"]),
        )

        assert rows.events_in([event]) == rows.events_of(job)
        assert head == rows.head_of(connection, job)
        state = rows.folded(connection, StreamKind.JOB, answer["jobId"])
        assert state == job.state
        assert event["tenant_id"] == job.tenant_id
        assert answer == {
            "jobId": event["stream_id"],
            "duplicate": False,
            "position": event["position"],
        }
        assert not written["outbox"]
        assert not written["external_keys"]
        again = enqueue(connection, request)
        assert again["duplicate"] is bool(request.get("uniqueKey"))
        assert (again == answer | {"duplicate": True}) is again["duplicate"]


def test_arguments_of_256_kib_are_taken_and_one_byte_more_is_not(
    connection: Connection,
) -> None:
    room = 256 * 1024 - len('{"x": ""}')

    enqueue(connection, {"kind": "mail", "args": {"x": "y" * room}})

    with pytest.raises(psycopg.DatabaseError) as refused:
        enqueue(connection, {"kind": "mail", "args": {"x": "y" * (room + 1)}})
    assert refused.value.diag.message_detail == "args"


def test_a_key_is_one_tenants_own(connection: Connection) -> None:
    first = enqueue(connection, {"kind": "mail", "uniqueKey": "k"})

    other = enqueue(connection, {"kind": "mail", "uniqueKey": "k", "tenant": "b"})

    assert other["duplicate"] is False
    assert other["jobId"] != first["jobId"]


def test_a_job_of_the_past_is_due_now(database: TestDatabase) -> None:
    connection = database.connect()
    database.advance(timedelta(days=3))

    enqueue(connection, {"kind": "mail", "runAt": "2020-01-01T00:00:00+03:00"})

    (head,) = rows.stored(connection, "jobs")
    (event,) = rows.stored(connection, "events")
    assert rows.instant(head["run_at"]) == rows.instant(event["recorded_at"])


def test_instants_do_not_depend_on_the_sessions_time_zone(
    connection: Connection,
) -> None:
    connection.execute("SET TimeZone = 'Asia/Kathmandu'")
    connection.execute("SET DateStyle = 'SQL, DMY'")

    enqueue(connection, {"kind": "mail", "runAt": "2040-03-04T05:06:07.080+05:45"})

    (event,) = rows.stored(connection, "events")
    assert event["data"]["run_at"] == "2040-03-03T23:21:07.080000Z"


def test_fifty_thousand_enqueues_in_one_transaction_hold_one_lock(
    database: TestDatabase,
) -> None:
    """Mechanisms 1: a ticket per statement would fill the lock table."""
    writer, watcher = database.connect(), database.connect()
    limit(watcher)

    with writer.transaction():
        writer.execute(IN_A_LOOP)

        assert rows.one(watcher, TICKETS, writer.info.backend_pid) == (1,)
    assert rows.one(watcher, TICKETS, writer.info.backend_pid) == (0,)
    assert rows.one(watcher, "SELECT count(*) FROM counterfoil.jobs") == (50_000,)


def test_arguments_at_their_limits_can_be_read_again(connection: Connection) -> None:
    """I13: what is accepted stands in no reader's way, whoever asked for it."""
    args = {"x": 10**299, "y": nested(63), "z": -(10**299)}

    told = connection.execute(
        "SELECT counterfoil.enqueue(%s::jsonb)",
        (json.dumps({"kind": "report", "args": args}),),
    ).fetchall()

    stored = connection.execute("SELECT data::text FROM counterfoil.events").fetchall()
    assert not told[0][0]["duplicate"]
    assert msgspec.json.decode(stored[0][0])["args"] == args
