"""Mechanisms 9, 23: leases are confirmed by token, cheaply, whatever handlers show."""

from datetime import timedelta

import pytest

from domain.jobs.aggregate import Cancel
from domain.stream import Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.processor.leases import Confirmation, Leases
from infrastructure.processor.running import RunContext
from infrastructure.processor.succeed import Stamp, Success, succeed
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue
from tests.processor.rig import Rig
from tests.store.groups import commanding, step

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]


def lease_seconds(parts: Rig) -> list[int]:
    rows = parts.connection.execute(
        """
        SELECT round(extract(epoch FROM lease_until - counterfoil.now()))::int
          FROM counterfoil.jobs WHERE state = 'running' ORDER BY stream_id
        """
    )
    return [row[0] for row in rows]


def test_a_heartbeat_renews_the_lease_from_now(
    database: TestDatabase, parts: Rig
) -> None:
    enqueue(parts.connection, "noop")
    held = parts.claim()
    database.advance(timedelta(seconds=40))
    (before,) = lease_seconds(parts)

    parts.beat(held)

    (after,) = lease_seconds(parts)
    assert before <= 20
    assert after >= 55


def test_i4_a_heartbeat_with_an_older_token_renews_nothing(
    database: TestDatabase, parts: Rig
) -> None:
    database.advance(timedelta(hours=1))
    enqueue(parts.connection, "noop")
    (late,) = parts.claim()
    database.advance(timedelta(seconds=61))
    parts.rescuer.round()
    parts.leases.drop([late])

    assert not late.is_lost
    other = Leases()
    (mine,) = other.take([(late.job, late.kind)], other.now())
    parts.leases = other
    assert parts.beat([mine]) == [mine]
    assert mine.is_lost
    assert lease_seconds(parts) == []


def test_an_answer_about_an_older_claim_does_not_touch_the_present_one(
    parts: Rig,
) -> None:
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    stale = Confirmation(
        job_id=held.job.id,
        token=held.job.token - 1,
        is_confirmed=False,
        is_lost=True,
        cancel_requested=True,
    )

    assert parts.leases.confirm([stale], parts.leases.now()) == []
    assert not held.is_lost
    assert not held.cancel_requested


def test_what_was_just_settled_is_nobodys_loss(parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    held.end()
    success = Success(held.job.id, held.job.token, None)
    stamp = Stamp(parts.actor, new_id())
    assert succeed(parts.connection, [success], stamp) == [True]

    assert parts.beat([held]) == []  # the settler has not dropped it yet


def test_a_cancel_request_comes_back_with_a_heartbeat(parts: Rig) -> None:
    """S20."""
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    context = RunContext(held, parts.leases)
    assert not context.cancel_requested
    ref = step(Ref(StreamKind.JOB, held.job.id), make=commanding(Cancel()))
    parts.store.commit([ref])

    parts.beat([held])

    assert context.cancel_requested


def test_progress_is_saved_once_and_survives_later_heartbeats(parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    RunContext(held, parts.leases).progress({"done": 3})

    parts.beat([held])
    parts.beat([held])

    rows = parts.connection.execute("SELECT progress FROM counterfoil.jobs").fetchall()
    assert rows == [({"done": 3},)]


def test_progress_that_cannot_be_stored_costs_nobody_a_lease(
    database: TestDatabase, parts: Rig
) -> None:
    for _ in range(3):
        enqueue(parts.connection, "noop")
    held = parts.claim()
    RunContext(held[1], parts.leases).progress({"text": "a\x00b"})
    database.advance(timedelta(seconds=40))

    assert parts.beat(held) == []

    assert min(lease_seconds(parts)) >= 55


def test_a_row_that_is_being_settled_does_not_hold_the_heartbeat_up(
    database: TestDatabase, parts: Rig
) -> None:
    for _ in range(2):
        enqueue(parts.connection, "noop")
    held = parts.claim()
    database.advance(timedelta(seconds=40))
    settling = database.connect()
    with settling.transaction():
        settling.execute(
            "SELECT 1 FROM counterfoil.jobs WHERE stream_id = %s FOR UPDATE",
            (held[0].job.id,),
        )
        assert parts.beat(held) == []
    assert sorted(lease_seconds(parts))[1] >= 55
    assert not held[0].is_lost


def test_nine_of_ten_heartbeats_are_hot_updates(parts: Rig) -> None:
    """Mechanisms 9: no index names what a heartbeat writes."""
    connection = parts.connection
    connection.execute(
        """
        SELECT counterfoil.enqueue(jsonb_build_object('kind', 'noop'))
          FROM generate_series(1, 400)
        """
    )
    held = parts.claim(n=400)
    assert len(held) == 400
    connection.execute("VACUUM counterfoil.jobs")
    before = updates(parts)
    for _ in range(20):
        parts.beat(held)

    total, hot = (now - then for now, then in zip(updates(parts), before, strict=True))
    assert total == 8_000
    assert hot / total >= 0.9


def updates(parts: Rig) -> tuple[int, int]:
    flush = "SELECT pg_stat_force_next_flush()"  # of PostgreSQL 15 and later
    parts.connection.execute(flush)
    parts.connection.execute("SELECT pg_stat_clear_snapshot()")
    (row,) = parts.connection.execute(
        """
        SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
         WHERE relid = 'counterfoil.jobs'::regclass
        """
    ).fetchall()
    return row[0], row[1]
