"""Mechanisms 17: where scans begin, and how often everything is looked at."""

from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from infrastructure.ids import new_id
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.holds.holds import Holds
from infrastructure.processor.identity import this_process
from infrastructure.processor.low_water import LowWater, Onlooker, look
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue

ANYBODY = Onlooker(new_id(), Holds())
LATE = timedelta(seconds=2)
DEAR = 100.0
"""Seconds of a full look, so that none is due again within the second."""


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def instant(connection: psycopg.Connection[Any], of: str) -> datetime:
    found = connection.execute(f"SELECT {of}").fetchone()
    assert found is not None
    answer: datetime = found[0]
    return answer


@ON_BOTH_SERVERS
def test_each_bound_is_the_earliest_due_job_or_lies_just_before_the_look(
    connection: psycopg.Connection[Any],
) -> None:
    for _ in range(2):
        enqueue(connection, "noop", priority=2)
    enqueue(connection, "other", priority=3)
    water = LowWater("default")

    before = instant(connection, "counterfoil.now()")
    (is_due,) = look(connection, [water], ["noop"], 10.0, ANYBODY)
    after = instant(connection, "counterfoil.now()")

    assert is_due
    assert water.lows[1] == instant(
        connection, "min(run_at) FROM counterfoil.jobs WHERE priority = 2"
    )
    for priority in (1, 3, 4):
        assert before - LATE <= water.lows[priority - 1] <= after - LATE


@ON_BOTH_SERVERS
def test_a_held_job_bounds_the_scans_that_will_take_it(
    connection: psycopg.Connection[Any],
) -> None:
    """It needs no full look once its key is free."""
    first, second = (enqueue(connection, "noop", serialKey="k") for _ in range(2))
    claimer, lane = Claimer(this_process(), {"noop": 60}), Lane("default", ("noop",))
    enqueue(connection, "noop")

    assert first in {it.id for it in claimer.scan(connection, lane, 2, 10.0).jobs}
    connection.execute("DELETE FROM counterfoil.jobs WHERE state = 'running'")
    connection.execute("DELETE FROM counterfoil.running_keys")

    bounded = claimer.scan(connection, lane, 1, 10.0)
    assert not bounded.is_full
    assert [it.id for it in bounded.jobs] == [second]


def test_full_looks_take_a_tenth_of_the_time_at_most() -> None:
    water = LowWater("default", looked_at=10.0, cost=0.05)

    assert not water.is_full_due(10.4)
    assert water.is_full_due(10.6)


def test_everything_is_looked_at_once_a_second_whatever_it_costs() -> None:
    water = LowWater("default", looked_at=10.0, cost=DEAR)

    assert not water.is_full_due(10.9)
    assert water.is_full_due(11.0)


def test_whoever_found_enough_needs_no_full_look_within_the_second() -> None:
    water = LowWater("default", looked_at=10.0, is_short=False)

    assert not water.is_full_due(10.9)
    assert water.is_full_due(11.0)


@ON_BOTH_SERVERS
def test_a_look_that_rests_finds_what_is_due_since_the_last_full_one(
    connection: psycopg.Connection[Any],
) -> None:
    water = LowWater("default")
    assert look(connection, [water], ["noop"], 10.0, ANYBODY) == [False]
    water.cost = DEAR

    enqueue(connection, "noop")

    assert look(connection, [water], ["noop"], 10.1, ANYBODY) == [True]
    assert water.looked_at == 10.0


@ON_BOTH_SERVERS
def test_what_lies_below_is_found_by_the_next_full_look(
    connection: psycopg.Connection[Any],
) -> None:
    water = LowWater("default")
    assert look(connection, [water], ["noop"], 10.0, ANYBODY) == [False]
    water.cost = DEAR
    enqueue(connection, "noop")
    connection.execute("UPDATE counterfoil.jobs SET run_at = run_at - interval '1 day'")

    assert look(connection, [water], ["noop"], 10.9, ANYBODY) == [False]
    assert look(connection, [water], ["noop"], 11.0, ANYBODY) == [True]


@ON_BOTH_SERVERS
def test_a_claimer_that_rests_does_not_scan_again_at_once(
    connection: psycopg.Connection[Any],
) -> None:
    """Its loop scans until it has enough, or everything was looked at."""
    claimer, lane = Claimer(this_process(), {"noop": 60}), Lane("default", ("noop",))
    enqueue(connection, "noop")

    full = claimer.scan(connection, lane, 2, 10.0)
    bounded = claimer.scan(connection, lane, 2, 10.0)

    assert (len(full.jobs), full.is_full) == (1, True)
    assert (bounded.jobs, bounded.is_full) == ([], True)
