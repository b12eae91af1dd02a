"""Bodies of callbacks are taken over by the active key, page by page, unchanged."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from application.operators.instruction import instruct
from application.providers.sealing import Place, Sealed, Taken
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.providers.registry import bodies
from infrastructure.providers.registry.bodies import PostgresSealedBodies
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.seals.key_ring import KeyRing
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

K1, K2 = (bytes(range(n, n + 32)) for n in (1, 2))
OLD = KeyRing({"k1": K1})
RING = KeyRing({"k2": K2, "k1": K1})
WHY = instruct("ann", "the yearly rotation")

INSERT = """
INSERT INTO counterfoil.provider_callbacks
       (id, tenant_id, provider, event_id, state, code, body_sha256, body_bytes, body,
        body_key)
VALUES (%(id)s, %(tenant)s, 'stars', %(event)s, %(state)s, 'unknown_key',
        sha256('x'), 1, %(body)s, %(key)s)
"""


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=2) as pool:
        yield pool


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def place_of(tenant: str, key: object) -> Place:
    return Place(tenant=tenant, table="provider_callbacks", column="body", row=str(key))


def received(
    connection: psycopg.Connection[Any],
    n: int,
    ring: KeyRing,
    tenant: str = "default",
    state: str = "failed",
) -> None:
    """Keep the bodies of `n` callbacks, as whoever received them has sealed them."""
    for _ in range(n):
        key = new_id()
        sealed = ring.seal(f"body of {key}".encode(), place_of(tenant, key))
        connection.execute(
            INSERT,
            {"id": key, "tenant": tenant, "event": str(key), "state": state}
            | {"body": sealed.content, "key": sealed.key},
        )


def opened(connection: psycopg.Connection[Any], ring: KeyRing) -> set[bool]:
    """Return how those that may be replayed open."""
    rows = connection.execute(
        """
        SELECT id, tenant_id, body, body_key FROM counterfoil.provider_callbacks
         WHERE state <> 'accepted'
        """
    ).fetchall()
    return {
        ring.open(Sealed(key, body), place_of(tenant, row)) == f"body of {row}".encode()
        for row, tenant, body, key in rows
    }


def test_all_bodies_are_taken_over_whatever_page_and_tenant_they_are_of(
    pool: Database,
    connection: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "PAGE", 3)
    received(connection, 6, OLD)
    received(connection, 2, RING)
    received(connection, 1, OLD, tenant="other")
    received(connection, 1, OLD, state="ignored")
    received(connection, 1, OLD, state="accepted")  # nothing follows from it any more
    kept = PostgresSealedBodies(pool)
    assert kept.counts() == {"k1": 8, "k2": 2}

    taken = kept.take_over(RING)

    assert taken == Taken(n_taken=8, n_unreadable=0)
    assert kept.counts() == {"k2": 10}
    assert opened(connection, KeyRing({"k2": K2})) == {True}
    assert kept.take_over(RING) == Taken(n_taken=0, n_unreadable=0)


def test_a_body_that_does_not_open_stays_and_keeps_its_key_from_being_dropped(
    pool: Database, connection: psycopg.Connection[Any]
) -> None:
    received(connection, 2, OLD)
    received(connection, 1, KeyRing({"k1": bytes(range(7, 39))}))
    people = configure_over(pool, RING, BatchStore(pool))

    told = people.reseal(WHY)

    assert told.bodies == Taken(n_taken=2, n_unreadable=1)
    assert not told.is_whole
    active, old = people.look.credentials().keys
    assert (active.key, active.bodies) == ("k2", 2)
    assert (old.key, old.bodies, old.can_be_dropped) == ("k1", 1, False)
