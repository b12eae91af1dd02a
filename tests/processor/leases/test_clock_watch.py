"""A clock of this machine that is wrong is told, once in a while (S15)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from infrastructure.processor.clock.watch import (
    AGAIN_SECONDS,
    BOUND_SECONDS,
    LOOK_SECONDS,
    ClockWatch,
)
from infrastructure.telemetry import listen
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import Events


@dataclass
class Clocks:
    """What this machine believes; the database's clock is moved by the test."""

    ahead: timedelta = timedelta()
    seconds: float = 0.0

    def wall(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def elapsed(self) -> float:
        return self.seconds


def looked(database: TestDatabase, clocks: Clocks, rounds: int) -> list[Any]:
    """Return what is told in so many rounds, a minute each."""
    events = Events()
    watch = ClockWatch(clocks.wall, clocks.elapsed)
    connection = database.connect()
    with listen(events.add):
        for _ in range(rounds):
            watch.look(connection)
            clocks.seconds += LOOK_SECONDS
    return events.seen


@pytest.mark.parametrize("minutes", [10, -10])
def test_a_clock_that_differs_is_told_with_both_times(
    database: TestDatabase, minutes: int
) -> None:
    ((event, told),) = looked(database, Clocks(timedelta(minutes=minutes)), rounds=1)

    assert event == "clock differs"
    assert told["ahead_seconds"] == pytest.approx(60 * minutes, abs=30)
    assert told["bound_seconds"] == BOUND_SECONDS
    here = datetime.fromisoformat(told["here"])
    there = datetime.fromisoformat(told["database"])
    assert abs(here - there - timedelta(minutes=minutes)) < timedelta(seconds=30)


def test_clocks_that_agree_are_nothing_to_tell(database: TestDatabase) -> None:
    assert looked(database, Clocks(), rounds=3) == []


def test_a_difference_that_lasts_is_told_again_each_hour(
    database: TestDatabase,
) -> None:
    rounds = int(2 * AGAIN_SECONDS / LOOK_SECONDS) + 1

    told = looked(database, Clocks(timedelta(minutes=10)), rounds)

    assert [event for event, _ in told] == ["clock differs"] * 3


def test_that_the_clocks_agree_again_is_told_as_well(database: TestDatabase) -> None:
    events, clocks = Events(), Clocks(timedelta(minutes=-10))
    watch = ClockWatch(clocks.wall, clocks.elapsed)
    connection = database.connect()

    with listen(events.add):
        for ahead in (-10, 0, 0, 10):
            clocks.ahead = timedelta(minutes=ahead)
            watch.look(connection)
            clocks.seconds += LOOK_SECONDS

    assert [event for event, _ in events.seen] == [
        "clock differs",
        "clock agrees again",
        "clock differs",
    ]


def test_a_slow_answer_is_no_difference_of_clocks(database: TestDatabase) -> None:
    """While it was under way, the database may have looked at any moment."""
    clocks, began = (
        Clocks(-timedelta(seconds=BOUND_SECONDS + 5)),
        iter([0.0, 0.0, 20.0]),
    )
    watch = ClockWatch(clocks.wall, lambda: next(began))
    events = Events()

    with listen(events.add):
        watch.look(database.connect())

    assert events.seen == []


def test_between_two_looks_nobody_is_asked(database: TestDatabase) -> None:
    clocks = Clocks(timedelta(minutes=10))
    watch = ClockWatch(clocks.wall, clocks.elapsed)
    connection = database.connect()
    watch.look(connection)
    connection.close()

    watch.look(connection)
