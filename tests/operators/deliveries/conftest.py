"""A shop that owes goods, in which operators decide."""

import pytest

from tests.operators.deliveries.goods import Shop
from tests.operators.world import World


@pytest.fixture
def shop(world: World) -> Shop:
    return Shop(world)
