"""SIGKILL of the real command at each of its commits, and the same command again (I7).

The command talks through a proxy, which keeps a COMMIT back or the answer to it.  What
is read is right at every moment; whoever repeats the command gets to the end, and is
told where it went on.
"""

import signal
from collections.abc import Iterator
from datetime import timedelta

import pytest

from bench.projections.recorded import lives, write_copy
from tests.api.command import Command, Result
from tests.builds.world import JOBS, World
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.read_models import assert_read_model_holds

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

REBUILD = ("projections", "rebuild", "jobs", "--json")
VERIFY = ("projections", "verify", "jobs", "--json")

BEGUN = "build_began_at = counterfoil.now()"
BATCH = 'INSERT INTO "counterfoil"."read_jobs_b"'
SWAPPED = "projection.promoted"
EMPTIED = "TRUNCATE"


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(COUNTERFOIL_DATABASE_URL=database.url, COUNTERFOIL_OPERATOR="ann")
    try:
        yield command
    finally:
        command.close()


def killed(
    counterfoil: Command,
    proxy: Proxy,
    command: tuple[str, ...],
    of: str,
    *,
    is_committed: bool,
) -> None:
    """Kill the command before a COMMIT of these words is there, or right behind it."""
    hold = proxy.hold_commit_answer if is_committed else proxy.hold_before_commit
    plan = hold(of=of)
    started = counterfoil.start(*command, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    assert started.stop(signal.SIGKILL).out == ""
    proxy.close_all()


def again(
    counterfoil: Command, database: TestDatabase, command: tuple[str, ...]
) -> Result:
    """Repeat the command once the dead one's claim is over."""
    database.advance(timedelta(seconds=11))
    done = counterfoil(*command)
    assert done.code == 0, done.err
    return done


@pytest.mark.parametrize("is_committed", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("of", [BEGUN, BATCH, SWAPPED, EMPTIED])
def test_a_killed_rebuild_is_repeated_to_its_end(
    world: World,
    proxy: Proxy,
    counterfoil: Command,
    of: str,
    *,
    is_committed: bool,
) -> None:
    world.live(8)
    world.follow()
    had = world.position("a")

    killed(counterfoil, proxy, REBUILD, of, is_committed=is_committed)

    swapped = of == EMPTIED or (of == SWAPPED and is_committed)
    assert world.slot == ("b" if swapped else "a")
    assert len(world.promotions()) == int(swapped)
    assert_read_model_holds(world.connection, JOBS)
    told = again(counterfoil, world.database, REBUILD).document
    assert told["position"] >= (had or 0)
    assert len(world.promotions()) == 1 + int(swapped)
    world.require_right()
    assert world.count(world.spare) == 0
    was_begun = of != BEGUN or is_committed
    assert told["began"] == ("resumed" if was_begun and not swapped else "anew")


def test_a_killed_rebuild_keeps_every_batch_that_it_had_committed(
    world: World, proxy: Proxy, counterfoil: Command
) -> None:
    write_copy(world.connection, list(lives(7_000)))
    killed(counterfoil, proxy, REBUILD, BATCH, is_committed=True)

    told = again(counterfoil, world.database, REBUILD).document

    assert (told["began"], told["fromPosition"]) == ("resumed", 20_000)
    assert told["events"] == told["position"] - 20_000
    world.require_right()


@pytest.mark.parametrize("of", [BATCH, EMPTIED])
def test_a_killed_verification_hinders_nobody(
    world: World, proxy: Proxy, counterfoil: Command, of: str
) -> None:
    world.live(8)
    world.follow()
    killed(counterfoil, proxy, VERIFY, of, is_committed=True)
    assert_read_model_holds(world.connection, JOBS)

    assert again(counterfoil, world.database, VERIFY).document["differing"] == 0
    again(counterfoil, world.database, REBUILD)

    world.require_right()


def test_an_interrupted_rebuild_says_how_to_go_on(
    world: World, proxy: Proxy, counterfoil: Command
) -> None:
    world.live(8)
    plan = proxy.hold_commit_answer(of=BATCH)
    started = counterfoil.start(*REBUILD, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)

    started.send(signal.SIGINT)
    proxy.close_all()
    ended = started.end()

    assert (ended.code, ended.out) == (130, "")
    assert "`counterfoil projections rebuild jobs` goes on, --abandon" in ended.err
    dropped = again(counterfoil, world.database, (*REBUILD, "--abandon")).document
    assert (dropped["work"], dropped["position"]) == ("rebuild", 20)
    assert counterfoil(*REBUILD).document["began"] == "anew"
    world.require_right()


def test_the_second_builder_is_told_who_the_first_one_is(
    world: World, proxy: Proxy, counterfoil: Command
) -> None:
    world.live(8)
    plan = proxy.hold_before_commit(of=SWAPPED)
    first = counterfoil.start(*REBUILD, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)

    second = counterfoil("projections", "rebuild", "jobs")

    assert second.code == 1
    assert f"pid {first.process.pid} since " in second.err
    assert "jobs is being rebuilt or verified by" in second.err
    assert_read_model_holds(world.connection, JOBS)
