"""What a handler leaves behind in its cell ends with it, wherever it has gone."""

import os
from collections.abc import Iterator

import pytest

from domain.jobs.outcome import Completed
from domain.jobs.verdict import LeaseLost
from infrastructure.processor.suspects import cells, leash
from infrastructure.processor.suspects.cells import Cells
from infrastructure.processor.suspects.wire import Recipe
from infrastructure.telemetry import listen
from tests.crash.lawless import WAYS
from tests.fixtures.workers import Events, descendants, until
from tests.processor.suspects import test_cells
from tests.processor.suspects.test_cells import Prison


@pytest.fixture(scope="module")
def prison() -> Iterator[Prison]:
    made = Prison()
    yield made
    made.cells.close()


def below(prison: Prison) -> set[int]:
    """Return the processes that cells have left, with the forker alone to be there."""
    forker = prison.cells.forker_pid
    return set() if forker is None else descendants(os.getpid()) - {forker}


@pytest.fixture(autouse=True)
def _nothing_is_left(prison: Prison) -> Iterator[None]:
    others = descendants(os.getpid()) - {prison.cells.forker_pid}
    yield
    until(lambda: not below(prison) - others)


def test_children_and_daemons_end_with_their_cell(prison: Prison) -> None:
    assert prison("leaves_children") == Completed()


def test_s6_children_that_hold_its_wire_hide_no_death(prison: Prison) -> None:
    died = prison("leaves_children_and_exits")

    assert isinstance(died, LeaseLost)
    assert died.how == "exit code 7"


def test_i3_a_copy_of_the_process_ends_where_the_handler_returns(
    prison: Prison,
) -> None:
    """Only who was asked may answer."""
    said = prison("comes_back_twice")

    assert isinstance(said, Completed)
    assert said.result is not None


@pytest.mark.parametrize("way", ["stops_its_parent", "stops_its_grandparent"])
def test_i13_whoever_stops_what_guards_him_stops_no_later_suspect(
    way: str, prison: Prison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leash, "_KILLED_SECONDS", 0.2)
    monkeypatch.setattr(leash, "_STOP_SECONDS", 0.2)
    monkeypatch.setattr(cells, "_SET_UP_SECONDS", 1.0)
    monkeypatch.setattr(leash, "_MOMENT_SECONDS", 0.1)
    assert isinstance(prison("done"), Completed)
    forker = prison.cells.forker_pid
    events = Events()

    with listen(events.add):
        assert prison(way) == Completed()
        until(lambda: isinstance(prison("done"), Completed))

    assert events.of("cells are deaf", forker=forker)
    assert prison.cells.forker_pid != forker


def test_a_process_that_an_import_has_started_outlives_a_keeper() -> None:
    prison = Prison()
    prison.cells = Cells(
        Recipe("tests.processor.suspects.helping", "kinds"), prison.leases
    )
    try:
        assert isinstance(prison("kills"), LeaseLost)

        asked = prison("asks")
    finally:
        prison.cells.close()
    assert asked == Completed(result={"state": "S"})


def test_every_way_has_its_test() -> None:
    there = {"leaves", "eats_memory", "loops", "leaves_a_thread", "writes_rubbish"}
    there |= {"holds_the_interpreter"}
    here = {"leaves_children", "leaves_children_and_exits", "comes_back_twice"}
    stops = {"stops_its_parent", "stops_its_grandparent"}

    known = there | here | stops | {"kills_its_grandparent"}
    assert set(WAYS) == known | set(test_cells.DEATHS)
