"""A loop that comes round no more is noticed, unless it waits for the database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from infrastructure.postgres.database import connect
from infrastructure.telemetry.pulse import PERIOD_SECONDS, Pulse
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import until


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_a_loop_that_comes_round_is_not_stuck() -> None:
    clock = Clock()
    pulse = Pulse("claim", clock=clock)

    for _ in range(10):
        pulse.beat()
        clock.at += 2.9 * PERIOD_SECONDS

        assert not pulse.is_stuck


def test_a_loop_that_has_not_begun_or_has_ended_is_not_stuck() -> None:
    clock = Clock()
    pulse = Pulse("claim", clock=clock)
    clock.at += 100
    assert not pulse.is_stuck

    pulse.beat()
    pulse.end()
    clock.at += 100

    assert not pulse.is_stuck


@contextmanager
def beaten_then(hang: Callable[[], object]) -> Iterator[tuple[Pulse, Clock]]:
    """Give the pulse of a thread that hangs after its first beat."""
    clock = Clock()
    pulse = Pulse("claim", clock=clock)
    has_beaten = threading.Event()

    def loop() -> None:
        pulse.beat()
        has_beaten.set()
        hang()

    thread = threading.Thread(target=loop)
    thread.start()
    has_beaten.wait()
    yield pulse, clock
    thread.join()


def test_a_loop_that_hangs_is_stuck_after_three_periods() -> None:
    free = threading.Event()
    with beaten_then(free.wait) as (pulse, clock):
        clock.at += 2.9 * PERIOD_SECONDS
        was_stuck = pulse.is_stuck
        clock.at += 0.2 * PERIOD_SECONDS
        is_stuck = pulse.is_stuck
        free.set()

    assert (was_stuck, is_stuck) == (False, True)


def test_a_loop_that_waits_for_the_database_is_not_stuck(
    database: TestDatabase,
) -> None:
    holder = database.connect()
    holder.execute("SELECT pg_advisory_lock(1)")

    def hang() -> None:
        with connect(database.conninfo) as waits:
            waits.execute("SELECT pg_advisory_lock(1)")

    with beaten_then(hang) as (pulse, clock):
        until(lambda: holder.execute(_WAITS).fetchone())
        clock.at += 100 * PERIOD_SECONDS
        is_stuck = pulse.is_stuck
        holder.execute("SELECT pg_advisory_unlock(1)")

    assert not is_stuck


_WAITS = "SELECT 1 FROM pg_locks WHERE NOT granted"
