"""The answer to the very first COMMIT is lost: there is one owner, who can sign in."""

import pytest

from domain.access.audience import Audience
from domain.access.roles import Role
from infrastructure.postgres.database import Database
from tests.access.world import HOME, OPERATOR_TOKEN, World
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import PASSWORD
from tests.fixtures.proxy import Proxy

pytestmark = pytest.mark.database


def test_the_first_owner_is_one_although_the_answer_was_lost(
    database: TestDatabase, proxy: Proxy
) -> None:
    with Database(proxy.conninfo, pool_size=4) as opened:
        world = World(database, opened)
        access = world.access
        principal = access.authenticate.token(OPERATOR_TOKEN, Audience.ADMIN, HOME)
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
