"""Mechanisms 21: one at a time per key, in order, and freed on every way out."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest

from domain.jobs.outcome import Cancel, Completed, Fail, Park, Retry, Snooze
from domain.jobs.verdict import Ending, Interrupted, LeaseLost
from infrastructure.ids import new_id
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.identity import actor_of, this_process
from infrastructure.processor.succeed import Stamp, Success, succeed
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue
from tests.processor.rig import Rig

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

CLAIMERS = 4
KEYS = 5
JOBS_OF_A_KEY = 8


def keys(connection: psycopg.Connection[Any]) -> int:
    rows = connection.execute("SELECT count(*) FROM counterfoil.running_keys")
    return int(rows.fetchall()[0][0])


def test_one_job_of_a_key_runs_at_a_time_and_the_others_follow_in_order(
    parts: Rig,
) -> None:
    jobs = [enqueue(parts.connection, "turn", serialKey="k") for _ in range(3)]
    free = enqueue(parts.connection, "noop")

    order = []
    for _ in jobs:
        held = [each for each in parts.claim() if each.job.id != free]
        assert len(held) == 1
        assert parts.claim() == []
        order.append(held[0].job.id)
        parts.settle(held[0], Completed())

    assert order == jobs


def test_the_same_key_of_another_tenant_is_another_key(parts: Rig) -> None:
    for tenant in ("one", "two"):
        enqueue(parts.connection, "turn", serialKey="k", tenant=tenant)

    assert len(parts.claim()) == 2


def test_a_later_version_waits_for_an_earlier_one_that_is_due_but_not_in_backoff(
    database: TestDatabase, parts: Rig
) -> None:
    connection = parts.connection
    first = enqueue(connection, "turn", serialKey="k")
    second = enqueue(connection, "turn", serialKey="k")
    (held,) = parts.claim()
    assert held.job.id == first
    parts.settle(held, Retry(code="down"))  # waits for ten seconds

    (held,) = parts.claim()
    assert held.job.id == second
    database.advance(timedelta(seconds=60))
    assert parts.claim() == []  # the key is held, although the first is due now
    parts.settle(held, Interrupted(cause="test"))
    (held,) = parts.claim()
    assert held.job.id == first


WAYS_OUT: dict[str, Ending] = {
    "completed": Completed(),
    "retry": Retry(code="x"),
    "snooze": Snooze(until=datetime(2030, 1, 1, tzinfo=UTC)),
    "park": Park(cause="x"),
    "fail": Fail(code="x"),
    "cancel": Cancel(code="x"),
    "release": Interrupted(cause="x"),
    "lost": LeaseLost(cause="lease_lost"),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_every_way_out_of_running_frees_the_key(way: str, parts: Rig) -> None:
    enqueue(parts.connection, "turn", serialKey="k")
    (held,) = parts.claim()
    assert keys(parts.connection) == 1

    parts.settle(held, WAYS_OUT[way])

    assert keys(parts.connection) == 0


def test_a_key_whose_job_does_not_run_is_freed_by_the_orphan_pass(parts: Rig) -> None:
    connection = parts.connection
    enqueue(connection, "turn", serialKey="held")
    assert len(parts.claim()) == 1
    connection.execute(
        "INSERT INTO counterfoil.running_keys VALUES ('default', 'k', %s, 77)",
        (new_id(),),
    )
    enqueue(connection, "turn", serialKey="k")
    assert parts.claim() == []

    parts.rescuer.round()

    assert keys(connection) == 1  # the one of the running job
    assert len(parts.claim()) == 1


def drain(database: TestDatabase, start: threading.Barrier, n: int) -> int:
    """Claim and succeed until nothing is left; return how many were claimed."""
    own = database.connect()
    owner = this_process()
    claimer = Claimer(owner, {"turn": 60})
    start.wait(30)
    claimed = 0
    at = float(n)
    while own.execute("SELECT 1 FROM counterfoil.jobs LIMIT 1").fetchone():
        at += 10
        jobs = claimer.scan(own, Lane("default", ("turn",)), 3, at).jobs
        claimed += len(jobs)
        if jobs:
            done = [Success(job.id, job.token, None) for job in jobs]
            stamp = Stamp(actor_of(owner), new_id())
            assert all(succeed(own, done, stamp))
    return claimed


def steps_of(connection: psycopg.Connection[Any], key: str) -> list[tuple[UUID, str]]:
    """Return what happened to the jobs of a key after their births, in order."""
    rows = connection.execute(
        """
        SELECT e.stream_id, e.type
          FROM counterfoil.events e
          JOIN counterfoil.events j ON j.stream_id = e.stream_id AND j.version = 1
         WHERE e.version > 1
           AND j.data->>'serial_key' = %s
         ORDER BY e.position
        """,
        (key,),
    )
    return [(row[0], row[1]) for row in rows]


def test_four_claimers_keep_the_order_of_every_key(database: TestDatabase) -> None:
    """Never a later one while an earlier due one waits, and never two at once."""
    connection = database.connect()
    expected: dict[str, list[UUID]] = {f"k{n}": [] for n in range(KEYS)}
    for _ in range(JOBS_OF_A_KEY):
        for key, jobs in expected.items():
            jobs.append(enqueue(connection, "turn", serialKey=key))
    start = threading.Barrier(CLAIMERS)

    with ThreadPoolExecutor(CLAIMERS) as threads:
        claimed = list(threads.map(partial(drain, database, start), range(CLAIMERS)))

    assert sum(claimed) == KEYS * JOBS_OF_A_KEY
    assert sum(1 for n in claimed if n) > 1  # they did work side by side
    for key, jobs in expected.items():
        tags = ("job.claimed", "job.succeeded")
        assert steps_of(connection, key) == [(job, tag) for job in jobs for tag in tags]
    assert keys(connection) == 0
