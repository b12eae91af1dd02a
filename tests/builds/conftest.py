"""One world for each test."""

from collections.abc import Iterator

import pytest

from infrastructure.postgres.database import Database
from tests.builds.world import World
from tests.fixtures.database import TestDatabase


@pytest.fixture
def world(database: TestDatabase) -> Iterator[World]:
    with Database(database.conninfo, pool_size=4) as pool:
        yield World(database, pool)
