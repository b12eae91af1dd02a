"""S15: one worker ten minutes ahead, one ten minutes behind (libfaketime).

Only the machine's time of day is wrong, as with a clock that nobody sets; what a
process measures spans with goes on as it should.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from infrastructure.client import Client
from infrastructure.simulators.panel.faults import FaultRule
from tests.crash.test_fulfillment_kills import ORDER, staged
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Gate,
    Start,
    WorkerProcess,
    enqueue,
    history,
    is_over,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

AHEAD, BEHIND = timedelta(minutes=10), timedelta(minutes=-10)
LEASE = timedelta(seconds=60)
STEP = timedelta(seconds=20)
AN_AGE = timedelta(minutes=10)
"""After it, a server that has just started counts as old enough to rescue."""

LIBRARIES = (
    os.environ.get("COUNTERFOIL_TEST_LIBFAKETIME"),
    *(str(each) for each in Path("/usr/lib").glob("*/faketime/libfaketime.so.1")),
)


def clock(offset: timedelta) -> Mapping[str, str]:
    """The environment of a process whose time of day is off by `offset`."""
    for library in LIBRARIES:
        if library and Path(library).is_file():
            return {
                "LD_PRELOAD": library,
                "FAKETIME": f"{offset.total_seconds():+.0f}",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
    pytest.fail(
        "libfaketime is missing: install the package libfaketime, or set "
        "COUNTERFOIL_TEST_LIBFAKETIME to its libfaketime.so.1"
    )


def pair(start_worker: Start) -> tuple[WorkerProcess, WorkerProcess]:
    """Start a worker that is ahead, and one that is behind."""
    ahead = start_worker(environment=clock(AHEAD), heartbeat_seconds=0.2)
    return ahead, start_worker(environment=clock(BEHIND), heartbeat_seconds=0.2)


type Connection = psycopg.Connection[Any]


def time_of(connection: Connection) -> datetime:
    rows = connection.execute("SELECT counterfoil.now()").fetchall()
    now: datetime = rows[0][0]
    return now


def pass_time(database: TestDatabase, connection: Connection, by: timedelta) -> None:
    """Let time pass so slowly that nobody who still beats loses a lease."""
    end = time_of(connection) + by
    while time_of(connection) < end:
        database.advance(STEP)
        until(partial(_has_beaten, connection, time_of(connection)))


def _has_beaten(connection: Connection, since: datetime) -> bool:
    """Whether the lease of the job that is held was confirmed since then."""
    rows = connection.execute(
        """
        SELECT FROM counterfoil.jobs j
         WHERE state = 'running' AND kind = 'slow' AND beat_at < %s
        """,
        (since,),
    )
    return rows.fetchone() is None


def _lease_left(connection: Connection) -> timedelta:
    ((left,),) = connection.execute(
        """
        SELECT lease_until - counterfoil.now() FROM counterfoil.jobs
         WHERE kind = 'slow'
        """
    ).fetchall()
    return timedelta(seconds=left.total_seconds())


@pytest.mark.parametrize("skew", [AHEAD, BEHIND])
def test_nobody_takes_a_live_lease(
    database: TestDatabase, start_worker: Start, gate: Gate, skew: timedelta
) -> None:
    """I4: the lease of one that died ends on the database's clock, a live one never."""
    database.advance(AN_AGE)
    connection = database.connect()
    mine = start_worker(
        environment=clock(AN_AGE + skew),
        heartbeat_seconds=0.2,
        queues={"default": 1},
    )
    held = enqueue(connection, "slow")
    call = gate.wait_call(pid=mine.pid)
    doomed = start_worker(queues={"bulk": 1})
    lost = enqueue(connection, "calling", queue="bulk")
    last_call = gate.wait_call(pid=doomed.pid)
    doomed.kill()

    other = start_worker(
        environment=clock(AN_AGE - skew),
        heartbeat_seconds=0.2,
        queues={"bulk": 1},
    )
    assert timedelta() < _lease_left(connection) <= LEASE
    pass_time(database, connection, LEASE + STEP)
    rescued = gate.wait_call(job=lost)

    assert rescued.token > last_call.token
    assert history(connection, held) == ["enqueued", "claimed"]
    call.answer()
    rescued.answer()
    until(lambda: is_over(connection))
    assert history(connection, held) == ["enqueued", "claimed", "succeeded"]
    for worker, its in ((mine, skew), (other, -skew)):
        told = worker.events.of("clock differs")[0]
        assert told["ahead_seconds"] == pytest.approx(its.total_seconds(), abs=60)
        assert not worker.events.of("lease lost")


def test_delays_are_right_by_the_databases_time(
    database: TestDatabase, start_worker: Start
) -> None:
    connection = database.connect()
    pair(start_worker)
    jobs = [enqueue(connection, "faltering") for _ in range(20)]
    until(lambda: all(len(history(connection, job)) >= 3 for job in jobs))

    rows = connection.execute(
        """
        SELECT (data->>'retry_at')::timestamptz - recorded_at, meta->'actor'->>'id'
          FROM counterfoil.events WHERE type = 'job.attempt_failed'
        """
    ).fetchall()

    for delay, _ in rows:  # 5 s × 2 after the first attempt, moved by a tenth
        assert timedelta(seconds=8.5) < delay < timedelta(seconds=11.5)
    claims = connection.execute(
        "SELECT count(*) FROM counterfoil.events WHERE type = 'job.claimed'"
    ).fetchall()
    assert claims == [(20,)], "an attempt was repeated before its time"


def test_what_is_for_later_begins_when_the_database_says_so(
    database: TestDatabase, start_worker: Start
) -> None:
    connection = database.connect()
    pair(start_worker)
    later = time_of(connection) + timedelta(minutes=5)
    scheduled = enqueue(connection, "noop", runAt=later.isoformat())
    for _ in range(20):
        enqueue(connection, "noop")
    until(lambda: _count(connection) == 1)

    assert history(connection, scheduled) == ["enqueued"]
    database.advance(timedelta(minutes=5))
    until(lambda: is_over(connection))


def test_an_order_for_later_is_asked_of_the_panel_when_it_is_due(
    database: TestDatabase, tmp_path: Path
) -> None:
    """And one that the panel refuses for now is tried again after its own delay."""
    connection = database.connect()
    later = time_of(connection) + timedelta(minutes=5)
    with staged(database, tmp_path) as scene:
        scene.panel.faults.set(FaultRule("error_before", methods=("POST",), times=2))
        for skew in (AHEAD, BEHIND):
            scene.start_worker(more=clock(skew))
        _settle(connection, "later", effectiveAt=later.isoformat())
        for n in range(4):
            _settle(connection, f"now-{n}")
        until(lambda: len(scene.panel.users()) == 2)

        for (delay,) in scene.rows(
            """
            SELECT (data->>'retry_at')::timestamptz - recorded_at
              FROM counterfoil.events WHERE type = 'fulfillment.attempt_failed'
            """
        ):
            assert timedelta(seconds=8.5) < delay < timedelta(seconds=11.5)
        database.advance(timedelta(seconds=15))
        until(lambda: len(scene.panel.users()) == 4)
        asked = {each.username for each in scene.panel.book()}
        ((username,),) = scene.rows(
            """
            SELECT username FROM counterfoil.entitlements WHERE customer_id = 'later'
            """
        )
        assert username not in asked
        database.advance(timedelta(minutes=5))
        until(lambda: len(scene.panel.users()) == 5)


def _settle(connection: Connection, customer: str, **more: object) -> None:
    told = {"orderId": customer, "customerId": customer, **more}
    Client(connection).settle_order({**ORDER, **told})


def _count(connection: Connection) -> int:
    ((n,),) = connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchall()
    return int(n)


def test_the_skew_is_shown_as_a_warning(start_worker: Start) -> None:
    ahead, behind = pair(start_worker)
    right = start_worker()

    for worker, seconds in ((ahead, 600), (behind, -600)):
        (told,) = worker.events.wait_for("clock differs")
        assert told["ahead_seconds"] == pytest.approx(seconds, abs=30)
        here = datetime.fromisoformat(told["here"])
        assert abs((here - datetime.now(UTC)).total_seconds() - seconds) < 60
    assert not right.events.of("clock differs")
