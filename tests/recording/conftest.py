"""One installation that is lived in, over a database of the test's own."""

from collections.abc import Iterator

import pytest

from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.recording.deeds import World


@pytest.fixture
def world(database: TestDatabase) -> Iterator[World]:
    with Database(database.url, pool_size=4) as opened:
        world = World(opened)
        world.live_in()
        yield world
