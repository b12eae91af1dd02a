"""I1, S32 and mechanisms 13: in a foreign transaction, wholly or not at all."""

import json
from typing import Any, LiteralString

import psycopg
import pytest

from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.front_door import rows
from tests.front_door.rows import Connection

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

NOTHING = dict.fromkeys(rows.TABLES, 0)
ONE_ORDER = {
    "events": 2,
    "outbox": 1,
    "external_keys": 1,
    "orders": 1,
    "jobs": 1,
    "jobs_dead": 0,
}
AN_ENTITLEMENT = """
INSERT INTO counterfoil.entitlements
       (stream_id, tenant_id, version, state, customer_id, slot, username, desired,
        desired_version, paid_at)
VALUES (counterfoil.uuid7(), 'default', 2, 'live', 'c', 1, 'u', '{}', 1,
        counterfoil.now())
"""
# What a claim, a settler and a fan-out do to what they can see: the strongest locks.
OTHERS: tuple[LiteralString, ...] = (
    "SELECT 1 FROM counterfoil.jobs FOR UPDATE NOWAIT",
    "SELECT 1 FROM counterfoil.orders FOR UPDATE NOWAIT",
    "SELECT 1 FROM counterfoil.entitlements FOR UPDATE NOWAIT",
    "UPDATE counterfoil.jobs SET run_at = run_at",
    "UPDATE counterfoil.orders SET version = version + 1",
    "UPDATE counterfoil.entitlements SET version = version + 1",
    (
        "INSERT INTO counterfoil.running_keys"
        " VALUES ('default', 'fanout:c:1', counterfoil.uuid7(), 2)"
    ),
    "DELETE FROM counterfoil.jobs",
)
LOCKS = """
SELECT DISTINCT l.locktype, l.mode
  FROM pg_locks l
 WHERE l.pid = %s AND l.granted AND l.locktype <> 'virtualxid'
"""


def settle(connection: Connection, order_id: str = "o") -> dict[str, Any]:
    request = {
        "orderId": order_id,
        "customerId": "c",
        "kind": "renewal",
        "currency": "USD",
        "amountMinor": 1,
        "lines": [{"line": 1, "type": "access", "days": 30}],
    }
    (answer,) = rows.one(
        connection, "SELECT counterfoil.settle_order(%s::jsonb)", json.dumps(request)
    )
    return dict(answer)


def enqueue(connection: Connection, key: str = "k") -> None:
    connection.execute(
        "SELECT counterfoil.enqueue(%s::jsonb)",
        [json.dumps({"kind": "mail", "uniqueKey": key})],
    )


def test_i1_order_events_job_and_message_appear_together(
    database: TestDatabase,
) -> None:
    shop, watcher = database.connect(), database.connect()

    with shop.transaction():
        settle(shop)
        assert rows.counted(watcher) == NOTHING

    assert rows.counted(watcher) == ONE_ORDER


def test_i1_a_shop_that_dies_before_its_commit_leaves_nothing(
    database: TestDatabase,
) -> None:
    shop, watcher = database.connect(), database.connect()
    shop.autocommit = False
    settle(shop)

    watcher.execute("SELECT pg_terminate_backend(%s)", [shop.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        shop.commit()

    assert rows.counted(watcher) == NOTHING


def test_s32_a_rollback_leaves_nothing(connection: Connection) -> None:
    with connection.transaction(force_rollback=True):
        settle(connection)
        enqueue(connection)

    assert rows.counted(connection) == NOTHING


def test_s32_a_rollback_to_a_savepoint_leaves_nothing_and_may_be_repeated(
    database: TestDatabase,
) -> None:
    connection, watcher = database.connect(), database.connect()

    with connection.transaction():
        with connection.transaction(force_rollback=True):
            settle(connection)
            enqueue(connection)
        assert rows.counted(connection) == NOTHING
        with connection.transaction():
            assert settle(connection)["replayed"] is False

    assert rows.counted(watcher) == ONE_ORDER


def test_s32_a_serialization_conflict_is_said_to_be_one(
    database: TestDatabase,
) -> None:
    first, second = database.connect(), database.connect()
    for shop in (first, second):
        shop.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
    second.autocommit = False
    rows.one(second, "SELECT count(*) FROM counterfoil.orders")
    with first.transaction():
        early = settle(first)

    with pytest.raises(psycopg.errors.SerializationFailure):
        settle(second)

    second.rollback()
    with second.transaction():
        assert settle(second) == early | {"replayed": True}
    assert rows.counted(first) == ONE_ORDER


@pytest.mark.parametrize("level", list(psycopg.IsolationLevel))
def test_every_isolation_level_settles_different_orders_side_by_side(
    database: TestDatabase, level: psycopg.IsolationLevel
) -> None:
    first, second = database.connect(), database.connect()
    for shop in (first, second):
        shop.isolation_level = level

    with first.transaction():
        settle(first, "a")
        with second.transaction():
            settle(second, "b")

    assert len(rows.stored(first, "orders")) == 2


def test_a_caller_who_idles_after_settling_blocks_nobody(
    database: TestDatabase,
) -> None:
    """Mechanisms 13: no settlement, claim, settler or fan-out waits for him."""
    idler, other = database.connect(), database.connect()
    settle(other, "before")
    other.execute(AN_ENTITLEMENT)
    other.execute("SET lock_timeout = '100ms'")

    with idler.transaction():
        settle(idler, "idle")
        enqueue(idler)

        settle(other, "same-customer")
        enqueue(other, "another-key")
        for statement in OTHERS:
            other.execute(statement)
        held = set(other.execute(LOCKS, [idler.info.backend_pid]).fetchall())

    assert held == {
        ("relation", "AccessShareLock"),
        ("relation", "RowExclusiveLock"),
        ("transactionid", "ExclusiveLock"),
        ("advisory", "ShareLock"),
        # His tenant's lane into the house; whoever finds it taken uses another one.
        ("advisory", "ExclusiveLock"),
    }
