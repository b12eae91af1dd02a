"""The command line over the database of the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.operators.world import world

__all__ = ["world"]


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    """`counterfoil` over a migrated database of this test's own."""
    command = Command(COUNTERFOIL_DATABASE_URL=database.url, COUNTERFOIL_OPERATOR="ann")
    try:
        yield command
    finally:
        command.close()


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[Command]:
    """`counterfoil` without any settings but a data folder."""
    command = Command(COUNTERFOIL_DATA_DIR=str(tmp_path / "var"))
    try:
        yield command
    finally:
        command.close()
