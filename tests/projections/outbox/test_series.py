"""What was recorded over time, and what of that still waits."""

from datetime import timedelta

import pytest

from domain.errors import InvalidRequestError
from projections.queries.outbox.series import STEPS, Point
from tests.projections.outbox.conftest import Outbox

pytestmark = pytest.mark.database


def waits(point: Point) -> tuple[int, int]:
    return point.recorded_count, point.pending_count


def test_a_point_stands_for_what_was_recorded_in_its_step(outbox: Outbox) -> None:
    outbox.tell(times=3, ago=timedelta(hours=5))
    outbox.tell("job.discarded", times=2, ago=timedelta(hours=5))
    outbox.tell(times=4)
    outbox.project()

    series = outbox.series(since=timedelta(hours=6), step="1h")

    assert series.relation == "eq"
    assert [(p.topic, *waits(p)) for p in series.points] == [
        ("job.discarded", 2, 2),
        ("job.succeeded", 3, 3),
        ("job.succeeded", 4, 4),
    ]
    assert all(p.begins_at.minute == p.begins_at.second == 0 for p in series.points)


@pytest.mark.parametrize("step", STEPS)
def test_what_is_published_late_is_told_where_it_was_recorded(
    outbox: Outbox, step: str
) -> None:
    outbox.tell(times=4, ago=timedelta(hours=7))
    outbox.project()
    outbox.publish("position <= 3")

    series = outbox.series(since=timedelta(hours=8), step=step)

    (point,) = series.points
    assert waits(point) == (4, 1)
    assert timedelta(hours=7).total_seconds() <= point.longest_wait_seconds
    assert point.longest_wait_seconds < timedelta(hours=7, minutes=5).total_seconds()


def test_the_longest_wait_is_over_when_all_are_published(outbox: Outbox) -> None:
    outbox.tell(times=2, ago=timedelta(minutes=10))
    outbox.project()
    outbox.publish()
    outbox.connection.execute(
        "UPDATE counterfoil.test_clock SET ahead = ahead + '20 minutes'"
    )

    (point,) = outbox.series(step="1h", since=timedelta(hours=2)).points

    assert waits(point) == (2, 0)
    assert 600 <= point.longest_wait_seconds < 700


def test_a_step_is_chosen_that_a_person_can_look_at(outbox: Outbox) -> None:
    chosen = {
        str(since): outbox.series(since=since).step
        for since in (
            timedelta(minutes=10),
            timedelta(hours=2),
            timedelta(hours=24),
            timedelta(days=7),
            timedelta(days=90),
            timedelta(days=400),
        )
    }

    assert list(chosen.values()) == ["1m", "5m", "15m", "1d", "1d", "1d"]


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"since": timedelta(0)}, r"since: .*24h"),
        ({"since": timedelta(days=501)}, r"since: at most 500 steps"),
        ({"since": timedelta(days=1), "step": "1m"}, r"since: at most 500 steps"),
        ({"since": timedelta(days=21), "step": "1h"}, r"since: at most 500 steps"),
        ({"since": timedelta(days=3), "step": "15m"}, r"less than an hour each two"),
        ({"step": "2m"}, r"step: one of 1m, 5m"),
        ({"topic": "nothing"}, r"topic: one of"),
        ({"tenant_id": "\0"}, r"tenant: "),
        ({"tenant_id": "\ud800"}, r"tenant: "),
    ],
)
def test_a_series_is_bounded_and_says_how(
    outbox: Outbox, asked: dict[str, object], rule: str
) -> None:
    with pytest.raises(InvalidRequestError, match=rule):
        outbox.series(**asked)
