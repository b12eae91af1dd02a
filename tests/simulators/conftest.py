from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.stage import HEADERS, SQUADS, TOKEN, SetClock, Users


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "panel.db"


@pytest.fixture
def panel(clock: SetClock, book: Path) -> Iterator[PanelSimulator]:
    with PanelSimulator(book=book, token=TOKEN, squads=SQUADS, clock=clock) as panel:
        yield panel


@pytest.fixture
def client(panel: PanelSimulator) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=panel.url, headers=HEADERS, timeout=10) as client:
        yield client


@pytest.fixture
def users(client: httpx.Client, panel: PanelSimulator, clock: SetClock) -> Users:
    return Users(client, panel, clock)
