"""A simulated panel with the adapter in front of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.providers.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path) as stage:
        yield stage
