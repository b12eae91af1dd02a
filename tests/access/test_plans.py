"""One look at the database for each request goes by a key, however many there are."""

import re
from collections.abc import Iterator

import pytest

from domain.access.audience import Audience
from domain.access.permissions import Permission
from infrastructure.postgres.database import Database
from tests.access.world import HOME, World
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

FILL = """
INSERT INTO counterfoil.api_tokens (tenant_id, token_id, name, surface, scopes,
                                    allowed_from, created_by, expires_at, secret)
SELECT 'default', counterfoil.uuid7(), 'token-' || n, 'shop', '{jobs:read}', '{}',
       'ada', counterfoil.now() + interval '1 day', sha256(n::text::bytea)
  FROM generate_series(1, 5000) n;
INSERT INTO counterfoil.people (tenant_id, person_id, name, role, password)
SELECT 'default', counterfoil.uuid7(), 'person-' || n, 'viewer', '$argon2id$' || n
  FROM generate_series(1, 5000) n;
INSERT INTO counterfoil.sessions (tenant_id, digest, person_id, ends_at)
SELECT tenant_id, sha256(name::bytea), person_id, counterfoil.now() + interval '1 hour'
  FROM counterfoil.people;
INSERT INTO counterfoil.sign_in_attempts (counted, attempts, window_ends)
SELECT sha256(n::text::bytea), 1, counterfoil.now() + n * interval '1 second'
  FROM generate_series(1, 5000) n;
ANALYZE counterfoil.api_tokens, counterfoil.people, counterfoil.sessions,
        counterfoil.sign_in_attempts;
"""
AUTO_EXPLAIN = """
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET client_min_messages = log
"""
SCAN = re.compile(r"Seq Scan on (api_tokens|people|sessions|sign_in_attempts)\b")
INDEXES = {
    "api_tokens_pkey",
    "people_name",
    "people_pkey",
    "sessions_of_person",
    "sessions_pkey",
    "sign_in_attempts_over",
    "sign_in_attempts_pkey",
}


@pytest.fixture
def world(database: TestDatabase) -> Iterator[World]:
    """One installation with many people and programs, over one connection."""
    with Database(database.url, pool_size=1) as opened:
        database.connect().execute(FILL)
        yield World(database, opened)


def test_whatever_a_request_needs_is_found_by_an_index(world: World) -> None:
    made, plans = world.token(Permission.JOBS_READ), list[str]()
    world.person()
    with world.database.connection() as connection:
        connection.add_notice_handler(
            lambda notice: plans.append(notice.message_primary or "")
        )
        connection.execute(AUTO_EXPLAIN)

    for _ in range(7):  # beyond the fifth a plan may become generic
        world.passes(minutes=2)
        signed_in = world.signed_in()
        world.passes(minutes=2)
        assert world.is_in(signed_in)
        assert world.access.authenticate.token(made.text, Audience.SHOP, HOME)
        world.access.sign_in.out(signed_in.cookie)
    world.access.people.set_role("grace", "viewer", world.shell)

    ours = [plan for plan in plans if "counterfoil.events" not in plan]
    assert not [plan for plan in ours if SCAN.search(plan)]
    used = {index for index in INDEXES if any(index in plan for plan in ours)}
    assert used == INDEXES
