"""A shop that owes goods, and operators who ask and decide over HTTP."""

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World


@pytest.fixture
def shop(database: TestDatabase, api: Api) -> Shop:
    return Shop(World(api.services.database, database.connect()))
