"""The command line, run as processes that find the test's packages."""

from collections.abc import Iterator

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.packages import Packages


@pytest.fixture
def counterfoil(database: TestDatabase, packages: Packages) -> Iterator[Command]:
    """`counterfoil` over a migrated database of this test's own."""
    command = Command(COUNTERFOIL_DATABASE_URL=database.url, **packages.settings)
    try:
        yield command
    finally:
        command.close()


@pytest.fixture
def nowhere(packages: Packages) -> Iterator[Command]:
    """`counterfoil` whose database is not there."""
    nobody = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=3"
    command = Command(COUNTERFOIL_DATABASE_URL=nobody, **packages.settings)
    try:
        yield command
    finally:
        command.close()
