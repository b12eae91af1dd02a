"""What a pause and a limit do to claims: exact from the answer on."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest

from domain.jobs.outcome import Completed
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue, is_over, until
from tests.processor.gates.test_moments import stopped_at_commit
from tests.processor.holds.conftest import ANN, HOUR, Desk
from tests.processor.rig import NOOP, Rig, rig

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

CLAIMERS = 4
JOBS = 60


def running(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(
        "SELECT count(*) FROM counterfoil.jobs WHERE state = 'running'"
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.usefixtures("heads_equal_folds")
def test_a_paused_queue_is_not_claimed_and_others_are(desk: Desk, parts: Rig) -> None:
    job = enqueue(parts.connection, "noop")
    other = enqueue(parts.connection, "noop", queue="bulk")
    desk.pause()

    assert parts.claim() == []
    assert [it.job.id for it in parts.claim(queue="bulk")] == [other]

    desk.queues.resume("default", ANN)
    assert [it.job.id for it in parts.claim()] == [job]


def test_a_pause_ends_by_itself(desk: Desk, parts: Rig) -> None:
    job = enqueue(parts.connection, "noop")
    desk.pause(lasts=HOUR)
    desk.database.advance(HOUR - timedelta(minutes=1))
    assert parts.claim() == []

    desk.database.advance(timedelta(minutes=1))

    assert [it.job.id for it in parts.claim()] == [job]


def test_what_knows_of_no_pause_yet_claims_nothing_all_the_same(
    desk: Desk, parts: Rig
) -> None:
    """The look is a hint; the claim asks for itself."""
    enqueue(parts.connection, "noop")
    enqueue(parts.connection, "noop")
    assert len(parts.claim(1, at=1.0)) == 1
    desk.pause()

    assert not parts.claimer.holds.bars("default")
    assert parts.claim(1, at=1.1) == []


def test_suspects_of_a_paused_queue_wait_too(desk: Desk, parts: Rig) -> None:
    job = enqueue(parts.connection, "noop")
    parts.connection.execute("UPDATE counterfoil.jobs SET is_suspect = true")
    desk.pause()
    assert parts.claim_suspect() == []

    desk.queues.resume("default", ANN)

    assert [it.job.id for it in parts.claim_suspect()] == [job]


def test_whoever_pauses_waits_for_the_claims_under_way(desk: Desk, parts: Rig) -> None:
    """So after his answer none is committed."""
    enqueue(parts.connection, "noop")

    with ThreadPoolExecutor(1) as pool:
        with stopped_at_commit(parts, "job.claimed", parts.claim):
            pausing = pool.submit(desk.pause)
            until(partial(is_waited_for, desk.connection))
            assert not pausing.done()
        assert pausing.result(30) == 1

    assert running(desk.connection) == 1
    ((claimed, paused),) = desk.connection.execute(
        """
        SELECT max(position) FILTER (WHERE type = 'job.claimed'),
               max(position) FILTER (WHERE type = 'operator.action_taken')
          FROM counterfoil.events
        """
    ).fetchall()
    assert claimed < paused


def is_waited_for(connection: psycopg.Connection[Any]) -> bool:
    rows = connection.execute(
        """
        SELECT 1 FROM pg_locks
         WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted
        """
    )
    return rows.fetchone() is not None


@pytest.mark.usefixtures("heads_equal_folds")
def test_as_many_run_as_the_limit_says_and_the_next_follow(
    desk: Desk, parts: Rig
) -> None:
    for _ in range(5):
        enqueue(parts.connection, "noop")
    desk.limit(2)

    first = parts.claim()
    assert len(first) == 2
    assert parts.claim() == []
    parts.settle(first[0], Completed())
    assert len(parts.claim()) == 1
    desk.limit(None)
    assert len(parts.claim()) == 2


def test_what_runs_beyond_a_new_limit_goes_on_and_none_follows(
    desk: Desk, parts: Rig
) -> None:
    for _ in range(6):
        enqueue(parts.connection, "noop")
    held = parts.claim(4)

    desk.limit(2)

    for each in held[:2]:
        assert parts.claim() == []
        parts.settle(each, Completed())
    assert parts.claim() == []
    parts.settle(held[2], Completed())
    assert len(parts.claim()) == 1


def test_a_claim_that_is_not_committed_yet_counts(desk: Desk, parts: Rig) -> None:
    """Whoever comes meanwhile comes again, and does not wait."""
    for _ in range(3):
        enqueue(parts.connection, "noop")
    desk.limit(1)

    with (
        rig(parts.database, NOOP) as other,
        stopped_at_commit(parts, "job.claimed", parts.claim),
    ):
        assert other.claim() == []

    assert running(desk.connection) == 1


def test_tenants_that_take_turns_keep_to_the_limit(desk: Desk, parts: Rig) -> None:
    parts.connection.execute(
        """
        SELECT count(*) FROM counterfoil.enqueue_many(ARRAY(
            SELECT jsonb_build_object('kind', 'noop', 'tenant', t.name)
              FROM unnest(ARRAY['a', 'b']) AS t(name), generate_series(1, 40)))
        """
    )
    desk.limit(3)

    assert len(parts.claim(10)) == 3
    assert parts.claim(10) == []


def test_four_claimers_together_never_exceed_it(
    desk: Desk, database: TestDatabase
) -> None:
    """Each claims and ends at once, as fast as it can."""
    for _ in range(JOBS):
        enqueue(desk.connection, "noop")
    desk.limit(3)
    begun = threading.Barrier(CLAIMERS)
    seen: list[int] = []

    def claim_all() -> int:
        with rig(database, NOOP) as mine:
            begun.wait()
            done = 0
            while not is_over(mine.connection):
                held = mine.claim(2)
                seen.append(running(mine.connection))
                for each in held:
                    mine.settle(each, Completed())
                done += len(held)
            return done

    with ThreadPoolExecutor(CLAIMERS) as pool:
        done = [each.result(120) for each in [pool.submit(claim_all) for _ in range(4)]]

    assert sum(done) == JOBS
    assert max(seen) <= 3
