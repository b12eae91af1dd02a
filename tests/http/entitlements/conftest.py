"""An entitlement of the customer `ann`, without workers."""

from uuid import UUID

import pytest

from tests.operators.world import World, world

__all__ = ["world"]


@pytest.fixture
def entitlement(world: World) -> UUID:
    """The entitlement of the customer `ann`."""
    world.operation("ann")
    found = world.streams.entitlement_of("default", "ann", 1)
    assert found is not None
    return found[0].id
