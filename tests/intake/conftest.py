"""What shops ask for, over the test's own database, with and without a proxy."""

from collections.abc import Iterator

import pytest

from application.intake.intake import Intake
from infrastructure.front_door import intake_over
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy


@pytest.fixture
def intake(database: TestDatabase) -> Iterator[Intake]:
    with Database(database.conninfo, pool_size=6) as pool:
        yield intake_over(pool, BatchStore(pool))


@pytest.fixture
def cut_intake(proxy: Proxy) -> Iterator[Intake]:
    """Intake whose connections go through the proxy."""
    with Database(proxy.conninfo, pool_size=4) as pool:
        yield intake_over(pool, BatchStore(pool))
