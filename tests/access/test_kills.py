"""SIGKILL of the command that keeps tokens and people, on either side of its COMMIT."""

from collections.abc import Iterator

import pytest

from domain.access.permissions import Permission
from tests.access.world import World
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

WHY = ("--reason", "the test wants it")
COMMANDS = {
    "token.created": (
        *("tokens", "create", "webshop", "--surface", "shop"),
        *("--scope", "jobs:read"),
    ),
    "token.rotated": ("tokens", "rotate", "shop"),
    "token.revoked": ("tokens", "revoke", "shop"),
    "person.role_changed": ("people", "role", "grace", "viewer"),
    "person.disabled": ("people", "disable", "grace"),
}
ROWS = """
SELECT (SELECT json_agg(t ORDER BY t.name)::text FROM counterfoil.api_tokens t),
       (SELECT json_agg(p)::text FROM counterfoil.people p),
       (SELECT count(*) FROM counterfoil.sessions)
"""


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(COUNTERFOIL_DATABASE_URL=database.url)
    try:
        yield command
    finally:
        command.close()


@pytest.fixture
def lived_in(world: World) -> World:
    world.token(Permission.JOBS_READ)
    world.person()
    world.signed_in()
    return world


@pytest.mark.parametrize("action", COMMANDS)
def test_killed_before_its_commit_it_has_left_nothing(
    lived_in: World, counterfoil: Command, proxy: Proxy, action: str
) -> None:
    rows, facts = lived_in.rows(ROWS), lived_in.facts()
    plan = proxy.hold_before_commit(of=action)
    line = (*COMMANDS[action], *WHY)
    killed = counterfoil.start(*line, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    killed.process.kill()
    assert killed.end().out == ""
    proxy.close_all()
    assert (lived_in.rows(ROWS), lived_in.facts()) == (rows, facts)

    again = counterfoil(*line)

    assert again.code == 0, again.err
    assert [each[0] for each in lived_in.facts()] == [*(it[0] for it in facts), action]


@pytest.mark.parametrize("action", COMMANDS)
def test_killed_after_its_commit_row_and_fact_are_both_there(
    lived_in: World, counterfoil: Command, proxy: Proxy, action: str
) -> None:
    rows, facts = lived_in.rows(ROWS), lived_in.facts()
    plan = proxy.hold_commit_answer(of=action)
    line = (*COMMANDS[action], *WHY)
    killed = counterfoil.start(*line, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    killed.process.kill()
    assert killed.end().out == ""
    proxy.close_all()

    assert lived_in.rows(ROWS) != rows
    assert [each[0] for each in lived_in.facts()] == [*(it[0] for it in facts), action]
