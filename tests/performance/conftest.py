"""A meter, and the parts of a worker whose every message it counts."""

from collections.abc import Iterator

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.limits.room import limit
from tests.performance.meter import Meter
from tests.performance.stage import full, stage

__all__ = ["full", "stage"]


@pytest.fixture
def meter(database: TestDatabase, proxy: Proxy) -> Meter:
    return Meter(database, proxy)


@pytest.fixture
def counted(database: TestDatabase, proxy: Proxy) -> Iterator[TestDatabase]:
    """The test's own database, seen through the proxy."""
    seen = TestDatabase(proxy.conninfo)
    # There is a limit, and room for everybody.
    limit(database.connect(), tenant=20_000, in_all=100_000)
    try:
        yield seen
    finally:
        seen.close()
