"""Somebody has changed what projections keep of themselves, or holds a lock on it."""

import pytest

from infrastructure.projecting.builds.errors import (
    AheadError,
    BuildBusyError,
    NotMigratedError,
)
from tests.builds.world import World

pytestmark = pytest.mark.database

_AHEAD = "UPDATE counterfoil.checkpoints SET position = 999 WHERE name LIKE 'jobs%'"
_DELETE = "DELETE FROM counterfoil.projections WHERE name = 'jobs'"
_INSERT = "INSERT INTO counterfoil.projections (name, schema) VALUES ('jobs', 0)"
_LOCK = "SELECT 1 FROM counterfoil.projections WHERE name = 'jobs' FOR SHARE"


def test_a_place_that_is_left_in_the_spare_slot_is_not_gone_on_from(
    world: World,
) -> None:
    world.live(8)
    world.follow()
    world.set("live = 'b'")

    rebuilt = world.rebuild()

    assert (rebuilt.from_position, rebuilt.events, world.slot) == (0, 20, "a")
    world.require_right()


def test_a_verification_folds_from_zero_whatever_was_left(world: World) -> None:
    world.live(8)
    world.follow()
    world.set("live = 'b'")
    world.follow()

    verified = world.verify()

    assert verified.is_right
    assert (verified.position, verified.rows) == (20, 8)
    world.require_right()


def test_a_place_that_the_log_never_had_is_told_and_mended(world: World) -> None:
    world.live(8)
    world.follow()
    world.connection.execute(_AHEAD)

    with pytest.raises(AheadError, match="at position 999, and the log has reached 20"):
        world.verify()
    rebuilt = world.rebuild()
    world.live(4)
    world.follow()

    assert rebuilt.position == 20
    world.require_right()


def test_a_row_that_was_deleted_can_be_had_again_as_the_error_says(
    world: World,
) -> None:
    world.live(8)
    world.follow()
    world.rebuild()
    world.connection.execute(_DELETE)

    with pytest.raises(NotMigratedError, match="insert it again"):
        world.verify()
    world.connection.execute(_INSERT)
    rebuilt = world.rebuild()

    assert (rebuilt.from_position, rebuilt.schema) == (0, 3)
    world.require_right()


def test_a_lock_that_is_held_for_long_is_told_and_nothing_is_lost(world: World) -> None:
    world.live(8)
    with world.database.connect() as other, other.transaction():
        other.execute(_LOCK)

        with pytest.raises(BuildBusyError, match="run this again"):
            world.rebuild()

    assert world.rebuild().position == 20
    world.require_right()
