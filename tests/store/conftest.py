"""A batch store over the test's own database."""

from collections.abc import Iterator

import pytest

from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy


@pytest.fixture
def store(database: TestDatabase) -> Iterator[BatchStore]:
    with Database(database.conninfo, pool_size=6) as pool:
        yield BatchStore(pool)


@pytest.fixture
def cut_store(proxy: Proxy) -> Iterator[BatchStore]:
    """A store whose connections go through the proxy."""
    with Database(proxy.conninfo, pool_size=4) as pool:
        yield BatchStore(pool)
