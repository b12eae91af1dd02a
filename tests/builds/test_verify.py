"""A read model is compared with a fold at one and the same position."""

import msgspec
import pytest

from infrastructure.projecting.builds.errors import BuildHalfDoneError, OutdatedError
from infrastructure.projecting.builds.verify import Verify
from projections.read_models.all import ALL
from tests.builds.world import JOBS, Stopped, World, at, keys, silent, stopping_behind
from tests.fixtures.database import ON_BOTH_SERVERS
from tests.fixtures.read_models import project

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]


def test_a_read_model_that_nobody_has_touched_is_right(world: World) -> None:
    world.live(8)
    project(world.pool)

    for projection in ALL:
        verified = Verify(world.pool)(projection, silent)

        assert verified.is_right, verified
    assert world.count(world.spare) == 0
    world.require_right()


def test_it_finds_what_somebody_has_changed_removed_and_added(world: World) -> None:
    changed, removed, *_ = (ref.id for ref in world.live(8))
    world.follow()
    world.spoil(
        "UPDATE counterfoil.{table} SET kind = 'secret', attempt = 77"
        " WHERE stream_id = %s",
        changed,
    )
    world.spoil(
        """
        INSERT INTO counterfoil.{table}
        SELECT (jsonb_populate_record(r, '{{"stream_id":
               "00000000-0000-7000-8000-000000000001"}}')).*
          FROM counterfoil.{table} r
         WHERE stream_id = %s
        """,
        removed,
    )
    world.spoil("DELETE FROM counterfoil.{table} WHERE stream_id = %s", removed)

    verified = world.verify()

    assert not verified.is_right
    assert (verified.rows, verified.position) == (8, world.position("a"))
    assert (verified.differing, verified.missing, verified.extra) == (1, 1, 1)
    assert keys(verified.samples, "missing") == {str(removed)}
    assert keys(verified.samples, "extra") == {"00000000-0000-7000-8000-000000000001"}
    (differing,) = [it for it in verified.samples if it.what == "differing"]
    assert differing.key == {"stream_id": str(changed)}
    assert set(differing.columns) == {"kind", "attempt"}
    assert b"secret" not in msgspec.json.encode(verified)


def test_of_many_differences_some_are_shown(world: World) -> None:
    world.live(40)
    world.follow()
    world.connection.execute("UPDATE counterfoil.read_jobs_a SET queue = 'other'")

    verified = world.verify()

    assert verified.differing == 40
    assert [each.columns for each in verified.samples] == [("queue",)] * 5


def test_it_changes_nothing_that_is_read(world: World) -> None:
    world.live(4)
    world.follow()
    before = (world.slot, world.position("a"), world.row("schema", "paused_at"))

    world.verify()

    assert (world.slot, world.position("a"), world.row("schema", "paused_at")) == before
    assert world.promotions() == []


def test_it_compares_at_one_position_while_the_live_rows_go_on(world: World) -> None:
    world.live(4)
    world.follow()

    def go_on() -> None:
        world.live(4)
        world.follow()

    with at("comparing", go_on) as tell:
        verified = world.verify(tell)

    assert (verified.is_right, verified.rows, world.count("a")) == (True, 4, 8)


def test_the_live_rows_go_on_while_the_fold_comes_close(world: World) -> None:
    world.live(4)
    world.follow()

    def go_on() -> None:
        world.live(4)
        world.follow()

    with at("folding", go_on) as tell:
        verified = Verify(world.pool, close=0)(JOBS, tell)

    assert (verified.is_right, verified.rows) == (True, 8)


def test_it_compares_where_the_live_rows_are_not_where_the_log_is(
    world: World,
) -> None:
    world.live(4)
    world.follow()
    position = world.position("a")
    world.live(4)

    verified = world.verify()

    assert (verified.is_right, verified.position) == (True, position)


def test_a_read_model_that_was_never_followed_equals_an_empty_fold(
    world: World,
) -> None:
    world.live(4)

    verified = world.verify()

    assert (verified.is_right, verified.position, verified.rows) == (True, 0, 0)


def test_a_rebuild_that_is_half_done_is_not_destroyed(world: World) -> None:
    world.live(20)
    world.follow()
    with pytest.raises(Stopped):
        world.rebuild(stopping_behind(10), batch=10)

    with pytest.raises(BuildHalfDoneError, match=r"half done, at position 10: go on"):
        world.verify()

    assert world.rebuild().from_position == 10


def test_a_verification_that_died_hinders_nobody(world: World) -> None:
    world.live(20)
    world.follow()
    for _ in range(2):
        world.set("build = 'verify', build_schema = 3, build_began_at = now()")
        world.connection.execute(
            "INSERT INTO counterfoil.checkpoints (name, position, updated_at)"
            " VALUES ('jobs_b:counterfoil', 3, now())"
        )

        assert world.verify().is_right

    world.set("build = 'verify', build_schema = 3, build_began_at = now()")
    rebuilt = world.rebuild()

    assert rebuilt.began_because.startswith("what was half done was a verification")
    world.require_right()


def test_the_rows_of_other_code_are_not_compared(world: World) -> None:
    world.set("schema = 7")

    with pytest.raises(OutdatedError, match=r"folded by schema 7 .* rebuild jobs"):
        world.verify()
