"""Where the panel of each case is: a simulated one, or the one of the environment.

A simulated panel without controls runs on the real clock, as a real one does, and is
shared by its cases; a case that needs controls gets a panel of its own.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.facts.address import ANOTHER, SIMULATED_TOKEN
from tests.simulators.facts.case import Case
from tests.simulators.facts.stage import Controls, Place, Stage
from tests.simulators.stage import SQUADS, SetClock


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A panel that stands throughout: nobody's clock is moved, nothing is broken."""
    if ANOTHER is not None:
        yield Place(*ANOTHER)
        return
    book = tmp_path_factory.mktemp("facts") / "panel.db"
    with PanelSimulator(book=book, token=SIMULATED_TOKEN, squads=SQUADS) as panel:
        yield Place(panel.url, SIMULATED_TOKEN)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Place]:
    """A simulated panel for one case, with its switches and a clock to move."""
    clock = SetClock()
    with PanelSimulator(
        book=tmp_path / "panel.db", token=SIMULATED_TOKEN, squads=SQUADS, clock=clock
    ) as panel:
        yield Place(panel.url, SIMULATED_TOKEN, Controls(panel, clock))


@pytest.fixture
def stage(case: Case, request: pytest.FixtureRequest) -> Iterator[Stage]:
    if case.needs is not None and ANOTHER is not None:
        pytest.skip(f"needs {case.needs.value}, and this is another panel")
    place = request.getfixturevalue("standing" if case.needs is None else "own")
    with Stage(place) as opened:
        yield opened
