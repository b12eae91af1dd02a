from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infrastructure.simulators.gateway.simulator import GatewaySimulator
from tests.simulators.gateway.stage import SETTINGS, Blind, Keyed, opened
from tests.simulators.stage import SetClock


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def gateway(tmp_path: Path, clock: SetClock) -> Iterator[GatewaySimulator]:
    with GatewaySimulator(
        ledger=tmp_path / "gateway.db", settings=SETTINGS, clock=clock
    ) as gateway:
        yield gateway


@pytest.fixture
def client(gateway: GatewaySimulator) -> Iterator[httpx.Client]:
    with opened(gateway.url) as client:
        yield client


@pytest.fixture
def keyed(client: httpx.Client) -> Keyed:
    return Keyed(client)


@pytest.fixture
def blind(client: httpx.Client) -> Blind:
    return Blind(client)
