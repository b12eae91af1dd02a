"""The answer to a COMMIT is lost: what was asked for is done once, and is told."""

from collections.abc import Callable, Iterator

import pytest

from domain.access.permissions import Permission
from domain.access.roles import Role
from domain.access.surfaces import Surface
from infrastructure.postgres.database import Database
from tests.access.world import HOME, OPERATOR_TOKEN, World
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import PASSWORD
from tests.fixtures.proxy import Proxy

pytestmark = pytest.mark.database

type Does = Callable[[World], object]
type Cut = Callable[[Proxy, str], object]


def create(world: World) -> None:
    made = world.token(Permission.JOBS_READ, name="webshop")
    token = world.access.authenticate.token
    assert token(made.text, Surface.SHOP, HOME) is not None


def rotate(world: World) -> None:
    made = world.access.tokens.rotate("shop", world.shell)
    token = world.access.authenticate.token
    assert token(made.text, Surface.SHOP, HOME) is not None


def revoke(world: World) -> None:
    assert world.access.tokens.revoke("shop", world.shell).token.state == "revoked"


def add(world: World) -> None:
    world.person("ada", Role.VIEWER)
    assert world.is_in(world.signed_in("ada"))


def demote(world: World) -> None:
    kept = world.access.people.set_role("grace", "viewer", world.shell)
    assert kept.person.role == "viewer"


def disable(world: World) -> None:
    kept = world.access.people.set_disabled("grace", world.shell, disabled=True)
    assert kept.person.state == "disabled"


def sign_in(world: World) -> None:
    assert world.is_in(world.signed_in())


def sign_out(world: World) -> None:
    ((digest,),) = world.rows("SELECT digest FROM counterfoil.sessions")
    world.access.sign_in.sessions.end(bytes(digest), None)
    assert world.rows("SELECT FROM counterfoil.sessions") == []


DEEDS: dict[str, Does] = {
    "token.created": create,
    "token.rotated": rotate,
    "token.revoked": revoke,
    "person.created": add,
    "person.role_changed": demote,
    "person.disabled": disable,
    "session.began": sign_in,
    "session.ended": sign_out,
}
CUTS: dict[str, Cut] = {
    "before": lambda proxy, of: proxy.cut_before_commit(of=of),
    "after": lambda proxy, of: proxy.cut_commit_answer(of=of),
}


@pytest.fixture
def world(database: TestDatabase, proxy: Proxy) -> Iterator[World]:
    with Database(proxy.conninfo, pool_size=4) as opened:
        world = World(database, opened)
        world.token(Permission.JOBS_READ)
        world.person()
        world.signed_in()
        yield world


@pytest.mark.parametrize("side", CUTS)
@pytest.mark.parametrize("action", DEEDS)
def test_whichever_side_of_its_commit_is_lost_it_is_done_once(
    world: World, proxy: Proxy, action: str, side: str
) -> None:
    before = [each for each in world.facts() if each[0] == action]
    CUTS[side](proxy, action)

    DEEDS[action](world)

    after = [each for each in world.facts() if each[0] == action]
    assert len(after) == len(before) + 1


def test_the_first_owner_is_one_although_the_answer_was_lost(
    database: TestDatabase, proxy: Proxy
) -> None:
    with Database(proxy.conninfo, pool_size=4) as opened:
        world = World(database, opened)
        access = world.access
        principal = access.authenticate.token(OPERATOR_TOKEN, Surface.ADMIN, HOME)
        assert principal is not None
        proxy.cut_commit_answer(of="person.created")

        kept = access.people.add_first(
            world.wanted("grace", Role.OWNER), principal.instruct("starts", None)
        )

        assert kept.person.role == "owner"
        assert world.facts() == [
            ("person.created", "person", "bootstrap:operator-token")
        ]
        assert world.is_in(world.signed_in("grace", PASSWORD))
