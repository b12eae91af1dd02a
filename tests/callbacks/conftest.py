from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.postgres.database import Database
from tests.callbacks.stage import Shop, configure
from tests.fixtures.database import TestDatabase


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=4) as pool:
        yield pool


@pytest.fixture
def shop(database: TestDatabase, pool: Database, tmp_path: Path) -> Shop:
    connection = database.connect()
    configure(connection)
    return Shop.over(connection, pool, tmp_path)
