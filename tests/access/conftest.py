"""One installation with people and programs, over a database of the test's own."""

from collections.abc import Iterator

import pytest

from infrastructure.postgres.database import Database
from tests.access.world import World
from tests.fixtures.database import TestDatabase


@pytest.fixture
def world(database: TestDatabase) -> Iterator[World]:
    with Database(database.url, pool_size=4) as opened:
        yield World(database, opened)
