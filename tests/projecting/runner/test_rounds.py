"""What hinders one projection is its own affair: told once, tried again, slower."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.projecting.advanced import Advanced, State
from infrastructure.projecting.runner.episodes import AGAIN_SECONDS
from infrastructure.projecting.runner.rounds import Rounds
from infrastructure.projecting.table import ReadModelMismatchError
from infrastructure.telemetry import listen
from projections.read_models.all import AnyProjection
from projections.read_models.jobs import Jobs
from tests.fixtures.workers import Events

END = 100


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Script:
    """A projector that answers as it is told, and counts how often it is asked."""

    def __init__(self) -> None:
        self.answer: Callable[[], Advanced] = lambda: told(State.UP_TO_DATE)
        self.asked = 0

    def advance(
        self,
        projection: AnyProjection,
        *,
        slot: str | None = None,
        until: int | None = None,
        most: int = 0,
    ) -> Advanced:
        assert projection.name == "jobs"
        assert (slot, until) == (None, END)
        assert most > 0
        self.asked += 1
        return self.answer()

    def fails(self, error: Exception) -> None:
        def raising() -> Advanced:
            raise error

        self.answer = raising


def told(state: State, position: int = END, set_aside: int = 0) -> Advanced:
    return Advanced(
        state=state,
        slot="a",
        before=0,
        position=position,
        horizon=END,
        set_aside=set_aside,
    )


class Stage:
    """One projection, whose projector follows a script."""

    def __init__(self, events: Events) -> None:
        self.clock = Clock()
        self.script = Script()
        self.events = events
        self.probed = 0
        self.rounds = Rounds(self.script, {"jobs": Jobs()}, elapsed=self.clock)

    def carry(self) -> bool:
        return self.rounds.carry("jobs", END, self.probe)

    def probe(self) -> None:
        self.probed += 1

    def asked_within(self, seconds: float) -> int:
        """Return how often it was asked, eight times a second."""
        before = self.script.asked
        for _ in range(round(seconds * 8)):
            self.carry()
            self.clock.now += 0.125
        return self.script.asked - before


@pytest.fixture
def stage() -> Iterator[Stage]:
    events = Events()
    with listen(events.add):
        yield Stage(events)


def test_there_is_more_until_the_end_is_reached(stage: Stage) -> None:
    stage.script.answer = lambda: told(State.ADVANCED, position=40)
    assert stage.carry()

    stage.script.answer = lambda: told(State.ADVANCED)
    assert not stage.carry()


def test_one_that_is_up_to_date_is_asked_again_in_the_next_round(stage: Stage) -> None:
    assert not stage.carry()
    assert stage.asked_within(1) == 8
    assert stage.events.seen == []


def test_one_that_is_paused_is_looked_at_once_a_second(stage: Stage) -> None:
    stage.script.answer = lambda: told(State.PAUSED)

    assert not stage.carry()
    assert stage.asked_within(10) <= 10
    assert not stage.rounds.is_shunned("jobs")
    assert stage.events.of("projection paused") == [{"projection": "jobs"}]


def test_one_of_other_code_is_left_to_others_for_a_minute(stage: Stage) -> None:
    stage.script.answer = lambda: told(State.OUTDATED)

    assert not stage.carry()
    assert stage.rounds.is_shunned("jobs")
    assert stage.events.of("projection outdated") == [{"projection": "jobs"}]
    stage.clock.now += 60
    assert not stage.rounds.is_shunned("jobs")


def test_one_that_is_overtaken_does_not_spin(stage: Stage) -> None:
    stage.script.answer = lambda: told(State.OVERTAKEN, position=40)

    assert not stage.carry()
    assert stage.asked_within(10) <= 50


@pytest.mark.parametrize("state", [State.BUSY, State.ABSENT])
def test_one_that_cannot_go_on_rests_longer_each_time(
    state: State, stage: Stage
) -> None:
    stage.script.answer = lambda: told(state)

    assert stage.asked_within(60) <= 7
    assert stage.asked_within(300) <= 10
    assert len(stage.events.of("projection failed")) == 1


def test_a_fault_is_told_once_and_again_after_a_while(stage: Stage) -> None:
    stage.script.fails(ReadModelMismatchError("read_jobs_a", "no column tenant"))

    assert stage.asked_within(AGAIN_SECONDS * 1.5) > 10
    faults = stage.events.of("projection failed", projection="jobs")
    assert len(faults) == 2
    assert "no column tenant" in faults[0]["error"]


def test_a_fault_that_is_not_ours_is_told_by_its_place_alone(stage: Stage) -> None:
    stage.script.fails(ValueError("secret of the provider"))

    assert not stage.carry()
    (fault,) = stage.events.of("projection failed")
    assert fault["error"].startswith("ValueError at test_rounds.py:")


def test_the_end_of_a_fault_is_told_and_the_next_rest_is_short_again(
    stage: Stage,
) -> None:
    stage.script.fails(ValueError())
    stage.asked_within(100)
    stage.clock.now += 30
    stage.script.answer = lambda: told(State.ADVANCED, position=40)

    assert stage.carry()
    assert stage.events.of("projection follows again", after="projection failed")
    stage.script.fails(ValueError())
    assert stage.asked_within(1.2) == 2


def test_trouble_with_the_database_is_one_projections_if_the_database_answers(
    stage: Stage,
) -> None:
    stage.script.fails(DatabaseUnavailableError("no lock in 2 s"))

    assert not stage.carry()
    assert stage.probed == 1
    assert stage.events.of("projection failed")


def test_a_database_that_is_away_is_no_projections_fault(stage: Stage) -> None:
    is_gone = DatabaseUnavailableError("the server is gone")

    def away() -> None:
        raise is_gone

    stage.script.fails(is_gone)

    with pytest.raises(DatabaseUnavailableError):
        stage.rounds.carry("jobs", END, away)
    assert stage.events.seen == []


def test_what_is_set_aside_is_counted_and_told_once_a_minute(stage: Stage) -> None:
    stage.script.answer = lambda: told(State.ADVANCED, set_aside=2)

    stage.asked_within(59)
    assert [each["n"] for each in stage.events.of("events set aside")] == [2]
    stage.asked_within(2)
    told_of: list[Any] = [each["n"] for each in stage.events.of("events set aside")]
    assert told_of == [2, 2 * 8 * 60]
