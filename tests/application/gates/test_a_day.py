"""Twenty-four hours of maintenance before a worker that never stops looking (S8)."""

import pytest

from domain.maintenance.gates import ALL
from tests.application.gates.day import Day

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

N = 6
OWED = "SELECT state, count(*) FROM counterfoil.operations GROUP BY state"
ROWS = """
SELECT stream_id, attempt, parkings, error_code, version, pg_column_size(j.*)
  FROM counterfoil.jobs j ORDER BY stream_id
"""
ATTEMPTS = "SELECT DISTINCT attempts FROM counterfoil.operations"
PARKED_ONCE = {
    "job.parked": N + 1,
    "fulfillment.parked": N + 1,
    # N for the fan-outs of the orders, and one for each look at the gate.
    "job.claimed": N + N + 1,
}


def test_s8_a_day_of_maintenance_costs_no_attempt_and_three_events_a_job(
    day: Day,
) -> None:
    """One claim, one parking of the job, one of its operation: nothing more, ever."""
    for number in range(N // 2):
        day.settle(number)
    day.wait()
    assert day.rows(OWED) == [("succeeded", N // 2)]
    asked = len(day.panel.book())
    before = day.tags()
    day.maintenance.begin()
    for number in range(N // 2, N // 2 + N):
        day.settle(number)  # born while the gate is closed
    day.operate("reconcile", "c0")
    day.wait()
    parked, rows = day.tags(), day.rows(ROWS)
    did = {tag: parked[tag] - before.get(tag, 0) for tag in PARKED_ONCE}
    assert did == PARKED_ONCE

    for _ in range(12):
        day.pass_(hours=2)

    assert day.tags() == parked
    assert day.rows(ROWS) == rows  # S8: nor does the row grow
    assert {row[1:4] for row in rows} == {(0, 0, "maintenance_active")}
    assert len(day.panel.book()) == asked

    day.maintenance.end()
    day.wait()
    day.pass_(seconds=55)

    assert day.rows(OWED) == [("succeeded", N // 2 + N + 1)]
    assert day.rows(ATTEMPTS) == [(1,)]
    after = day.tags()
    assert after["job.unparked"] == N + 1
    assert after["fulfillment.attempt_started"] == N // 2 + N + 1
    assert "fulfillment.attempt_failed" not in after
    assert day.rows("SELECT 1 FROM counterfoil.jobs") == []


def test_windows_that_overlap_are_one_episode(day: Day) -> None:
    day.maintenance.begin()
    day.settle(1)
    day.wait()
    before = day.tags()
    assert before["job.parked"] == 1

    for _ in range(3):
        day.maintenance.begin(ALL)
        day.maintenance.end()
        day.pass_(hours=4)
        day.maintenance.begin()
        day.maintenance.end(ALL)
        day.pass_(hours=4)

    assert day.tags() == before
    assert day.panel.book() == []
    day.maintenance.end()
    day.wait()
    day.pass_(seconds=1)
    assert day.rows(OWED) == [("succeeded", 1)]


def test_what_the_panel_is_being_asked_when_the_gate_closes_finishes(day: Day) -> None:
    hold = day.panel.hold("POST", "/api/users", when="before")
    day.settle(1)
    hold.wait_arrived(timeout_s=40)
    day.maintenance.begin()
    day.settle(2)

    hold.release()
    day.wait()

    states = "SELECT state FROM counterfoil.operations ORDER BY stream_id"
    assert day.rows(states) == [("succeeded",), ("retrying",)]
    assert day.tags()["job.parked"] == 1
    assert len(day.panel.users()) == 1


def test_what_is_for_later_waits_under_a_closed_gate_without_an_event(day: Day) -> None:
    """No call, no look, no parking, until it comes."""
    day.settle(1, effectiveAt=_in(day, hours=30))
    day.wait()
    before = day.tags()
    assert "job.parked" not in before
    day.maintenance.begin()

    for _ in range(4):
        day.pass_(hours=7)
    assert day.tags() == before
    assert day.panel.book() == []

    day.pass_(hours=3)
    assert day.tags() == before | {
        "job.claimed": before["job.claimed"] + 1,
        "job.parked": 1,
        "fulfillment.parked": 1,
    }
    assert day.panel.book() == []

    day.maintenance.end()
    day.wait()
    day.pass_(seconds=1)
    assert day.rows(OWED) == [("succeeded", 1)]


def test_what_is_for_later_makes_no_call_and_no_event_before_its_time(day: Day) -> None:
    day.settle(1, effectiveAt=_in(day, hours=5))
    day.wait()
    before = day.tags()

    for _ in range(2):
        day.pass_(hours=2)

    assert day.tags() == before
    assert day.panel.book() == []
    day.pass_(hours=2)
    assert day.rows(OWED) == [("succeeded", 1)]


def _in(day: Day, hours: int) -> str:
    ((instant,),) = day.rows(
        f"SELECT counterfoil.instant_text(counterfoil.now() + interval '{hours} hours')"
    )
    return str(instant)
