"""Mechanisms 16-18: what a claim takes, in which order, and what it leaves alone."""

from datetime import timedelta

import pytest

from domain.jobs.verdict import Interrupted
from infrastructure.postgres.database import connect
from infrastructure.processor.claim import Lane
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue, history
from tests.processor.rig import Rig

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]


KNOWN = """
SELECT generic_plans
  FROM pg_prepared_statements
 WHERE statement LIKE '%job.claimed%'
"""


def let_pass(database: TestDatabase, seconds: float) -> None:
    database.advance(timedelta(seconds=seconds))


def test_due_jobs_are_claimed_oldest_first_and_no_more_than_asked(parts: Rig) -> None:
    jobs = [enqueue(parts.connection, "noop") for _ in range(5)]

    first, second = parts.claim(n=3), parts.claim(n=3)

    assert [each.job.id for each in first] == jobs[:3]
    assert [each.job.id for each in second] == jobs[3:]
    assert parts.claim() == []


def test_a_job_of_the_future_waits_for_its_time(
    database: TestDatabase, parts: Rig
) -> None:
    connection = parts.connection
    (due,) = connection.execute(
        "SELECT counterfoil.instant_text(counterfoil.now() + interval '1 hour')"
    ).fetchone() or ("",)
    job = enqueue(connection, "noop", runAt=due)

    assert parts.claim() == []
    let_pass(database, 3_601)
    assert [each.job.id for each in parts.claim()] == [job]


def test_what_belongs_to_other_queues_or_kinds_is_left_alone_and_visible(
    parts: Rig,
) -> None:
    """S25: an unknown kind waits for a process that knows it."""
    connection = parts.connection
    stranger = enqueue(connection, "never_heard_of")
    elsewhere = enqueue(connection, "noop", queue="nobody_serves_this")
    known = enqueue(connection, "noop")

    assert [each.job.id for each in parts.claim()] == [known]
    assert parts.claim() == []
    assert history(connection, stranger) == ["enqueued"]
    rows = connection.execute(
        "SELECT stream_id, state FROM counterfoil.jobs WHERE state = 'waiting'"
    ).fetchall()
    assert {row[0] for row in rows} == {stranger, elsewhere}


def test_a_higher_priority_goes_first_but_a_lower_one_ages(
    database: TestDatabase, parts: Rig
) -> None:
    """Heads start of 600, 300, 100 and 0 seconds, so nothing starves (I13)."""
    connection = parts.connection
    old_low = enqueue(connection, "noop", priority=4)
    let_pass(database, 290)
    middling = enqueue(connection, "noop", priority=2)
    let_pass(database, 295)
    fresh_high = enqueue(connection, "noop", priority=1)

    order = [parts.claim(n=1)[0].job.id for _ in range(3)]
    assert order == [fresh_high, middling, old_low]

    aged = enqueue(connection, "noop", priority=4)
    let_pass(database, 601)
    fresh = enqueue(connection, "noop", priority=1)
    assert [each.job.id for each in parts.claim(n=1)] == [aged]
    assert [each.job.id for each in parts.claim(n=1)] == [fresh]


def test_jobs_of_one_priority_keep_their_order_in_a_flood_of_another(
    parts: Rig,
) -> None:
    connection = parts.connection
    low = [enqueue(connection, "noop", priority=3) for _ in range(3)]
    high = [enqueue(connection, "noop", priority=1) for _ in range(3)]

    batch = [each.job.id for each in parts.claim(n=4)]

    assert set(batch) == {*high, low[0]}
    assert [each.job.id for each in parts.claim()] == low[1:]


def test_a_bounded_scan_starts_at_the_last_full_ones_oldest_row(parts: Rig) -> None:
    """Mechanisms 17: what lies below is found by the full scan of each second."""
    connection = parts.connection
    for _ in range(4):
        enqueue(connection, "noop")
    below = enqueue(connection, "noop")
    parts.claim(n=1, at=10.0)  # full: the first one is claimed, the bound is set
    connection.execute(
        "UPDATE counterfoil.jobs SET run_at = run_at - interval '1 day'"
        " WHERE stream_id = %s",
        (below,),
    )

    bounded = parts.claim(n=2, at=10.2)
    assert below not in {each.job.id for each in bounded}
    full = parts.claim(n=1, at=11.1)
    assert [each.job.id for each in full] == [below]
    connection.execute("DELETE FROM counterfoil.jobs WHERE stream_id = %s", (below,))
    forget(parts)


def test_a_bounded_scan_that_finds_too_little_is_followed_by_a_full_one(
    parts: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long a look takes on a busy machine, the next one is not put off.
    monkeypatch.setattr("infrastructure.processor.low_water._PAUSE_PER_COST", 0)
    connection = parts.connection
    enqueue(connection, "noop")
    below = enqueue(connection, "noop")
    parts.claim(n=1, at=10.0)
    connection.execute("UPDATE counterfoil.jobs SET run_at = run_at - interval '1 day'")

    assert parts.claim(n=1, at=10.1) == []
    assert [each.job.id for each in parts.claim(n=1, at=10.99)] == [below]
    forget(parts)


def forget(parts: Rig) -> None:
    """Remove what was moved by force: its rows are no fold of their streams."""
    with parts.connection.transaction():
        parts.connection.execute("SET LOCAL session_replication_role = replica")
        parts.connection.execute("TRUNCATE counterfoil.jobs, counterfoil.events")


def test_the_lease_counts_by_the_databases_clock(
    database: TestDatabase, parts: Rig
) -> None:
    let_pass(database, 86_400)
    enqueue(parts.connection, "noop")
    parts.claim()

    rows = parts.connection.execute(
        """
        SELECT lease_until - counterfoil.now() BETWEEN '55 s' AND '60 s',
               beat_at <= counterfoil.now(), token = version
          FROM counterfoil.jobs
        """
    ).fetchall()
    assert rows == [(True, True, True)]


def test_i4_tokens_of_a_job_rise_from_claim_to_claim(parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    tokens = []
    for _ in range(4):
        (held,) = parts.claim()
        tokens.append(held.job.token)
        parts.settle(held, Interrupted(cause="test"))

    assert tokens == [2, 4, 6, 8]


def test_a_warmed_connection_knows_the_claim_and_has_taken_nothing(
    database: TestDatabase, parts: Rig
) -> None:
    job = enqueue(parts.connection, "noop")
    with connect(database.conninfo) as fresh:
        parts.claimer.warm(fresh)
        assert fresh.execute(KNOWN).fetchall() == [(1,)]
        assert history(parts.connection, job) == ["enqueued"]

        scan = parts.claimer.scan(fresh, Lane("default", ("noop",)), 9, 1.0)

        assert [each.id for each in scan.jobs] == [job]
        # The very statement that is sent now, not one with parameters of other types.
        assert fresh.execute(KNOWN).fetchall() == [(2,)]
