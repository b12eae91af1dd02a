"""Reads while a read model is rebuilt: none fails or goes back, each is right (I7)."""

import pytest

from tests.builds.together import service
from tests.builds.world import World

pytestmark = pytest.mark.database


def test_a_service_reads_and_follows_while_its_read_model_is_rebuilt(
    world: World,
) -> None:
    with service(world) as working:
        slots = [world.slot]
        for _ in range(2):
            rebuilt = world.rebuild()
            assert rebuilt.position >= rebuilt.live_before
            slots.append(world.slot)
            working.wait_for_reads(2)
            assert world.verify().is_right

    working.require_right()
    assert slots == ["a", "b", "a"]
    assert len(world.promotions()) == 2
    world.follow()
    world.require_right()
