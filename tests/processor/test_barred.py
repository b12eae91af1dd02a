"""I13: no row that a claim cannot take keeps others from being claimed."""

from datetime import timedelta

import psycopg

from domain.jobs.outcome import Completed
from infrastructure.ids import new_id
from infrastructure.processor.barred import BARRED_SECONDS, Barred
from infrastructure.telemetry import listen
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue, history, kind, until, worker_here
from tests.processor.rig import Rig

BEHIND_THE_HEAD = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
VALUES ('default', %(job)s, 2, 'job.claimed', 1, '{}', '{}')
"""
REVIVED = """
INSERT INTO counterfoil.jobs
       (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
        parkings, serial_order, cancel_requested, correlation_id, args)
VALUES (%(job)s, 'default', 1, 'waiting', 'noop', 'default', 1,
        counterfoil.now() - interval '1 hour', 0, 0, 0, false, 'c', '{}')
"""
NOON = 43_200.0
LAST_VERSION = "UPDATE counterfoil.jobs SET version = 2147483647"


@ON_BOTH_SERVERS
def test_i13_events_behind_the_backs_of_heads_stop_nobody_else(
    database: TestDatabase,
) -> None:
    """S25: the bad rows are told and stay; the good ones finish without delay."""
    connection = database.connect()
    bad = {enqueue(connection, "noop") for _ in range(3)}
    for job in bad:
        connection.execute(BEHIND_THE_HEAD, {"job": job})
    good = {enqueue(connection, "noop") for _ in range(100)}

    with worker_here(database, kind("noop", lambda _args, _ctx: Completed())) as (
        _,
        events,
    ):
        until(lambda: _waiting(connection) == bad)
        told = events.wait_for("job barred", n=3)

    assert {each["job"] for each in told} == {str(job) for job in bad}
    assert sum(each["jobs"] for each in events.of("jobs settled")) == len(good)
    assert all(history(connection, job)[-1] == "succeeded" for job in good)
    assert len(events.of("job barred")) == len(bad)
    assert not events.of("claim failed")


@ON_BOTH_SERVERS
def test_i6_a_success_that_was_put_back_by_hand_never_runs_again(parts: Rig) -> None:
    job = enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    parts.settle(held, Completed())
    parts.connection.execute(REVIVED, {"job": job})
    fine = enqueue(parts.connection, "noop")

    claimed = [each.job.id for n in range(6) for each in parts.claim(at=NOON + n)]

    assert claimed == [fine]


@ON_BOTH_SERVERS
def test_i13_a_job_whose_versions_are_used_up_stops_nobody_else(parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    parts.connection.execute(LAST_VERSION)
    fine = [enqueue(parts.connection, "noop") for _ in range(4)]

    claimed = [each.job.id for n in range(6) for each in parts.claim(n=4, at=NOON + n)]

    assert claimed == fine


@ON_BOTH_SERVERS
def test_i13_a_rescue_that_the_log_refuses_is_told_and_writes_nothing(
    database: TestDatabase, parts: Rig
) -> None:
    """S25: an event behind the back of a running head; the others are brought back."""
    bad, good = enqueue(parts.connection, "noop"), enqueue(parts.connection, "noop")
    parts.claim()
    parts.connection.execute(
        """
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        VALUES ('default', %s, 3, 'job.snoozed', 1, '{}', '{}')
        """,
        (bad,),
    )
    database.advance(timedelta(minutes=2))
    told: list[object] = []

    with listen(lambda event, values: told.append((event, values.get("job")))):
        assert parts.rescuer.round() == 1

    assert told == [("rescue refused", str(bad)), ("job rescued", str(good))]
    assert history(parts.connection, bad) == ["enqueued", "claimed", "snoozed"]


def test_a_barred_job_is_tried_again_after_a_while() -> None:
    job = new_id()
    barred = Barred()
    barred.add(job, at=10.0)

    assert barred.jobs(at=10.0 + BARRED_SECONDS - 1) == [job]
    assert barred.jobs(at=10.0 + BARRED_SECONDS) == []


def _waiting(connection: psycopg.Connection[tuple[object, ...]]) -> set[object]:
    return {
        row[0] for row in connection.execute("SELECT stream_id FROM counterfoil.jobs")
    }
