"""A read model is made anew beside the live one, and swapped in one transaction."""

import pytest
from psycopg.sql import SQL, Identifier

from infrastructure.postgres.database import Database
from infrastructure.projecting.builds.promotion import Promotion
from infrastructure.projecting.builds.rebuild import Rebuild
from infrastructure.projecting.builds.spare import begin
from projections.builds import Progress
from projections.read_models.all import ALL
from tests.builds.world import (
    ANN,
    JOBS,
    Stopped,
    World,
    at,
    silent,
    stopping_behind,
)
from tests.fixtures.database import ON_BOTH_SERVERS
from tests.fixtures.proxy import Proxy
from tests.fixtures.read_models import assert_read_model_holds, project

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]


def test_rows_that_were_spoilt_are_right_again(world: World) -> None:
    refs = world.live(8)
    world.follow()
    other = "UPDATE counterfoil.{table} SET queue = 'x' WHERE stream_id = %s"
    world.spoil(other, refs[0].id)
    world.spoil("DELETE FROM counterfoil.{table} WHERE stream_id = %s", refs[1].id)

    rebuilt = world.rebuild()

    world.require_right()
    assert (world.slot, world.count("a"), world.count("b")) == ("b", 0, 8)
    assert (rebuilt.began, rebuilt.from_position, rebuilt.set_aside) == ("anew", 0, 0)
    assert rebuilt.position == rebuilt.live_before == world.position("b")
    assert rebuilt.is_emptied


def test_the_promotion_is_on_record_with_who_and_why(world: World) -> None:
    world.live()

    rebuilt = world.rebuild()

    ((data, actor, reason, position),) = world.promotions()
    assert data == {
        "projection": "jobs",
        "schema_number": 3,
        "slot": "b",
        "position": rebuilt.position,
    }
    assert (actor, reason, position) == ("ann", "it looked wrong", rebuilt.promoted_at)


def test_one_rebuild_after_another_takes_the_tables_by_turns(world: World) -> None:
    world.live()

    slots = []
    for _ in range(3):
        world.rebuild()
        slots.append(world.slot)
        world.live()
        world.follow()
        world.require_right()

    assert slots == ["b", "a", "b"]


def test_every_projection_can_be_rebuilt(world: World) -> None:
    world.live(8)
    project(world.pool)

    for projection in ALL:
        Rebuild(world.pool)(projection, ANN, silent)

    for projection in ALL:
        assert_read_model_holds(world.connection, projection)
    assert len(world.promotions()) == len(ALL)


def test_an_empty_log_is_rebuilt_too(world: World) -> None:
    rebuilt = world.rebuild()

    assert (rebuilt.events, world.count("b")) == (0, 0)
    world.require_right()


def test_a_rebuild_goes_on_where_it_was(world: World) -> None:
    world.live(20)
    with pytest.raises(Stopped):
        world.rebuild(stopping_behind(10), batch=10)

    rebuilt = world.rebuild()

    assert (rebuilt.began, rebuilt.from_position) == ("resumed", 10)
    assert rebuilt.events == rebuilt.position - 10
    world.require_right()


def test_what_other_code_has_begun_is_begun_anew(world: World) -> None:
    world.live(20)
    with pytest.raises(Stopped):
        world.rebuild(stopping_behind(10), batch=10)
    world.set("build_schema = 7")

    rebuilt = world.rebuild()

    assert (rebuilt.began, rebuilt.from_position) == ("anew", 0)
    assert rebuilt.began_because == (
        "what was half done was made by schema 7, this version has schema 3"
    )
    world.require_right()


def test_an_outdated_read_model_is_up_to_date_afterwards(world: World) -> None:
    world.live(4)
    world.follow()
    world.set("schema = 7")

    rebuilt = world.rebuild()

    assert (rebuilt.schema, *world.row("schema")) == (3, 3)
    world.require_right()


def test_a_paused_one_is_rebuilt_and_stays_paused(world: World) -> None:
    world.live(4)
    pause = "paused_at = now(), paused_by = 'bob', paused_reason = 'looks'"

    with at("tidying", lambda: world.set(pause)) as tell:
        rebuilt = world.rebuild(tell)

    assert rebuilt.is_paused
    assert world.row("paused_by", "paused_reason") == ("bob", "looks")
    world.require_right()


def test_the_live_rows_may_be_further_when_the_new_ones_are_done(world: World) -> None:
    world.live(4)

    def go_on() -> None:
        world.live(4)
        world.follow()

    with at("promoting", go_on) as tell:
        rebuilt = world.rebuild(tell)

    assert rebuilt.position >= rebuilt.live_before > 0
    world.require_right()


def test_whoever_is_quicker_again_and_again_has_to_wait_in_the_end(
    world: World,
) -> None:
    world.live(4)
    quicker: list[int] = []

    def tell(now: Progress) -> None:
        world.live(1)
        if now.phase == "folding" and len(quicker) < 6:
            quicker.append(now.done)
            world.follow()

    rebuilt = world.rebuild(tell)

    assert len(quicker) == 6
    assert rebuilt.position >= rebuilt.live_before > quicker[-1]
    world.require_right()


def test_nothing_is_promoted_to_a_position_below_the_live_one(world: World) -> None:
    world.live(4)
    world.follow()
    begun = begin(world.pool, "jobs", 1, "rebuild")

    promoted = Promotion("jobs", begun.slot, 1, ANN.meta("test"))(world.pool)

    assert promoted is None
    assert (world.slot, world.promotions()) == ("a", [])


def test_a_lost_answer_to_the_swap_is_no_second_swap(
    world: World, proxy: Proxy
) -> None:
    world.live(4)
    proxy.cut_commit_answer(of="projection.promoted")

    with Database(proxy.conninfo, pool_size=2) as pool:
        rebuilt = Rebuild(pool)(JOBS, ANN, silent)

    ((_, _, _, position),) = world.promotions()
    assert position == rebuilt.promoted_at
    assert world.slot == "b"
    world.require_right()


def test_who_has_looked_before_the_swap_sees_the_old_rows_to_the_end(
    world: World,
) -> None:
    world.live(4)
    world.follow()
    old = world.database.connect()
    count = SQL("SELECT count(*) FROM counterfoil.{}").format(Identifier("read_jobs_a"))
    with old.transaction():
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        assert old.execute("SELECT live FROM counterfoil.projections").fetchall()

        first = world.rebuild()
        second = world.rebuild()  # fills the very table that `old` is to read

        assert not first.is_emptied
        assert not second.is_emptied
        assert world.slot == "a"
        assert old.execute(count).fetchall() == [(4,)]

    world.require_right()
    third = world.rebuild()
    assert third.is_emptied
    world.require_right()


def test_what_was_set_aside_is_decided_anew(world: World) -> None:
    refs = world.live(4)
    world.follow()
    world.connection.execute(
        """
        INSERT INTO counterfoil.projection_set_aside
               (projection, slot, position, tenant_id, stream_id, version, type, reason)
        VALUES ('jobs', 'a', 1, 'default', %s, 1, 'job.enqueued', 'of an old binary')
        """,
        (refs[0].id,),
    )

    rebuilt = world.rebuild()

    assert rebuilt.set_aside == 0
    world.require_right()


def test_an_event_that_cannot_be_folded_is_set_aside_once_more(world: World) -> None:
    refs = world.live(4)
    world.connection.execute(
        """
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        VALUES ('default', %s, 2, 'job.claimed', 99, '{}', '{}')
        """,
        (refs[0].id,),
    )
    world.live(4)
    world.follow()

    first = world.rebuild()
    second = world.rebuild()

    assert (first.set_aside, second.set_aside) == (1, 1)
    rows = world.connection.execute(
        "SELECT slot, stream_id FROM counterfoil.projection_set_aside"
    ).fetchall()
    assert rows == [("a", refs[0].id)]
    assert world.count("a") == 8
