"""A meter, and the parts of a worker whose every message it counts."""

from collections.abc import Iterator

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.performance.meter import Meter
from tests.performance.stage import full, stage

__all__ = ["full", "stage"]


@pytest.fixture
def meter(database: TestDatabase, proxy: Proxy) -> Meter:
    return Meter(database, proxy)


@pytest.fixture
def counted(proxy: Proxy) -> Iterator[TestDatabase]:
    """The test's own database, seen through the proxy."""
    seen = TestDatabase(proxy.conninfo)
    try:
        yield seen
    finally:
        seen.close()
