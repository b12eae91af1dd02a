"""A provider at the door of the API, and the deliveries that it tells of."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.settings import Settings
from tests.callbacks.stage import RING, Shop, configure
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over


@pytest.fixture
def api(database: TestDatabase, tmp_path: Path) -> Iterator[Api]:
    settings = Settings(data_encryption_keys=RING)
    with api_over(database, tmp_path, settings) as opened:
        yield opened


@pytest.fixture
def shop(database: TestDatabase, api: Api, tmp_path: Path) -> Shop:
    connection = database.connect()
    configure(connection)
    return Shop.over(connection, api.services.database, tmp_path)
