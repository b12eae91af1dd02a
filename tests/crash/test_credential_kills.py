"""SIGKILL of whoever rotates keys: every credential opens, and the command goes on."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from application.operators.instruction import instruct
from application.providers.credential import Credential
from application.providers.opening import credential_in
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.seals.key_ring import KeyRing, key_ring_of, new_key
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

OLD, NEW = new_key("k1"), new_key("k2")
SETTING = f"{NEW},{OLD}"
NAMES = ("first", "second", "third", "fourth")
ROTATE = ("credentials", "rotate", "--reason", "the yearly rotation")
WHY = instruct("ann", "the first contract")
GIVEN = Credential(base_url="https://gateway.example", token="t")  # noqa: S106 - a test's


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        COUNTERFOIL_OPERATOR="ann",
        COUNTERFOIL_DATA_ENCRYPTION_KEYS=SETTING,
    )
    try:
        yield command
    finally:
        command.close()


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=2) as pool:
        people = configure_over(pool, key_ring_of(OLD), BatchStore(pool))
        for name in NAMES:
            people.configure("default", name, "fragment", WHY)
            people.set_credential("default", name, replace(GIVEN, token=name), WHY)
        yield pool


def opened(pool: Database, ring: KeyRing) -> dict[str, Credential | str]:
    found = configure_over(pool, ring, BatchStore(pool)).book.all()
    return {each.slug: credential_in(each, ring) for each in found}


EACH = {name: replace(GIVEN, token=name) for name in NAMES}


SEALED_BY = """
SELECT credential_key, count(position)::integer
  FROM counterfoil.goods_providers
  LEFT JOIN counterfoil.events
         ON type = 'credential.resealed' AND data->>'provider' = slug
 GROUP BY slug, credential_key
 ORDER BY slug
"""


def sealed_by(pool: Database) -> list[tuple[object, ...]]:
    """Return each provider's key, and how often its credential was sealed anew."""
    with pool.connection() as connection:
        return connection.execute(SEALED_BY).fetchall()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", ["first", "third"])
def test_killed_at_any_commit_the_rotation_leaves_every_credential_readable(
    name: str,
    moment: str,
    pool: Database,
    proxy: Proxy,
    counterfoil: Command,
) -> None:
    hold = proxy.hold_before_commit if moment == "before" else proxy.hold_commit_answer
    plan = hold(of=name)
    killed = counterfoil.start(*ROTATE, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    killed.process.kill()
    assert killed.end().out == ""
    proxy.close_all()
    order = sorted(NAMES)
    n_done = order.index(name) + (moment == "after")
    done, left = [("k2", 1)] * n_done, [("k1", 0)] * (len(NAMES) - n_done)
    assert sealed_by(pool) == done + left
    assert opened(pool, key_ring_of(SETTING)) == EACH

    again = counterfoil(*ROTATE)

    assert again.code == 0, again.err
    assert len(again.out.splitlines()) == max(len(left), 1)
    assert sealed_by(pool) == [("k2", 1)] * len(NAMES)
    assert opened(pool, key_ring_of(NEW)) == EACH
    assert counterfoil(*ROTATE).out.startswith("nothing to do: key k2 seals everything")
