"""A birth wakes idle workers of its queue, and nobody else (mechanisms 15)."""

from typing import Any

import psycopg
import pytest
from psycopg import sql

from infrastructure.ids import new_id
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.notices import heard, listening

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

type Connection = psycopg.Connection[Any]

SAY_IDLE = """
INSERT INTO counterfoil.idle_signs (until, boot, queues)
VALUES (counterfoil.now() + %s::interval, gen_random_uuid(), %s)
"""
ENQUEUE = 'SELECT counterfoil.enqueue(\'{"kind": "mail"}\')'
ENQUEUE_QUIETLY = """
SELECT counterfoil.enqueue('{"kind": "mail", "notify": false}')
"""
ENQUEUE_ONCE = """
SELECT counterfoil.enqueue('{"kind": "mail", "uniqueKey": "once"}')
"""
ENQUEUE_IN_BULK = """
SELECT counterfoil.enqueue('{"kind": "mail", "queue": "bulk"}')
"""
ENQUEUE_FOR_LATER = """
SELECT counterfoil.enqueue('{"kind": "mail", "runAt": "2999-01-01T00:00:00Z"}')
"""
SETTLE = """
SELECT counterfoil.settle_order('{
    "orderId": "A-1", "customerId": "C-1", "kind": "purchase", "currency": "EUR",
    "amountMinor": 1490, "lines": [{"line": 1, "type": "access", "days": 30}]}')
"""
SETTLE_QUIETLY = SETTLE.replace("{\n", '{"notify": false,\n', 1)
TOP_UP = """
SELECT counterfoil.settle_order('{
    "orderId": "A-2", "customerId": "C-1", "kind": "topup", "currency": "EUR",
    "amountMinor": 1490}')
"""


def say_idle(connection: Connection, *queues: str, lasts: str = "1 hour") -> None:
    connection.execute(SAY_IDLE, [lasts, list(queues)])


@pytest.mark.parametrize(
    ("statement", "queue"),
    [(ENQUEUE, "default"), (ENQUEUE_IN_BULK, "bulk"), (SETTLE, "critical")],
    ids=["enqueue", "enqueue in bulk", "settle"],
)
def test_a_birth_wakes_who_is_idle_for_its_queue(
    database: TestDatabase, statement: str, queue: str
) -> None:
    listener, shop = listening(database), database.connect()
    say_idle(shop, "critical", "default", "bulk")
    say_idle(shop, queue)

    shop.execute(statement)

    assert heard(listener, shop) == [queue]


@pytest.mark.parametrize("statement", [ENQUEUE, SETTLE], ids=["enqueue", "settle"])
def test_nobody_is_woken_while_nobody_is_idle(
    database: TestDatabase, statement: str
) -> None:
    listener, shop = listening(database), database.connect()

    shop.execute(statement)

    assert heard(listener, shop) == []


def test_a_sign_is_worth_nothing_once_it_has_expired(database: TestDatabase) -> None:
    listener, shop = listening(database), database.connect()
    say_idle(shop, "default", lasts="-1 microsecond")

    shop.execute(ENQUEUE)

    assert heard(listener, shop) == []


@pytest.mark.parametrize(
    "statement",
    [ENQUEUE_QUIETLY, ENQUEUE_IN_BULK, ENQUEUE_FOR_LATER, SETTLE_QUIETLY, TOP_UP],
    ids=["notify false", "another queue", "later", "settle, notify false", "no job"],
)
def test_what_an_idle_worker_could_not_run_now_wakes_nobody(
    database: TestDatabase, statement: str
) -> None:
    listener, shop = listening(database), database.connect()
    say_idle(shop, "default", "critical")

    shop.execute(statement)

    assert heard(listener, shop) == []


@pytest.mark.parametrize(
    "statement", [ENQUEUE_ONCE, SETTLE], ids=["duplicate", "replay"]
)
def test_what_was_there_before_wakes_nobody(
    database: TestDatabase, statement: str
) -> None:
    listener, shop = listening(database), database.connect()
    shop.execute(statement)
    say_idle(shop, "default", "critical")

    shop.execute(statement)

    assert heard(listener, shop) == []


def test_what_was_rolled_back_wakes_nobody(database: TestDatabase) -> None:
    listener, shop = listening(database), database.connect()
    say_idle(shop, "default", "bulk")

    with shop.transaction(force_rollback=True):
        shop.execute(ENQUEUE)
    with shop.transaction():
        with shop.transaction(force_rollback=True):
            shop.execute(ENQUEUE)
        shop.execute(ENQUEUE_IN_BULK)

    assert heard(listener, shop) == ["bulk"]


def test_many_births_of_one_transaction_are_one_notice(database: TestDatabase) -> None:
    listener, shop = listening(database), database.connect()
    say_idle(shop, "default")

    with shop.transaction():
        for _ in range(20):
            shop.execute(ENQUEUE)

    assert heard(listener, shop) == ["default"]


def test_a_list_of_queues_wakes_each_that_is_served_once(
    database: TestDatabase,
) -> None:
    """What births many jobs in one statement asks once for all their queues."""
    listener, shop = listening(database), database.connect()
    say_idle(shop, "default", "bulk")

    shop.execute(
        "SELECT counterfoil.notify_idle(ARRAY['bulk', 'default', 'bulk', 'other'])"
    )

    assert sorted(heard(listener, shop)) == ["bulk", "default"]


@pytest.mark.parametrize(
    "statement", [ENQUEUE_QUIETLY, SETTLE_QUIETLY], ids=["enqueue", "settle"]
)
def test_who_prepares_his_transaction_asks_for_no_notice(
    database: TestDatabase, statement: str
) -> None:
    connection = database.connect()
    say_idle(connection, "default", "critical")
    name = sql.Literal(f"prepared-{new_id()}")

    connection.execute("BEGIN")
    connection.execute(statement)
    connection.execute(sql.SQL("PREPARE TRANSACTION {}").format(name))
    connection.execute(sql.SQL("COMMIT PREPARED {}").format(name))

    jobs = connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchall()
    assert jobs == [(1,)]


@pytest.mark.parametrize("statement", [ENQUEUE, SETTLE], ids=["enqueue", "settle"])
def test_a_transaction_that_woke_somebody_cannot_be_prepared(
    database: TestDatabase, statement: str
) -> None:
    connection = database.connect()
    say_idle(connection, "default", "critical")
    connection.execute("BEGIN")
    connection.execute(statement)

    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("PREPARE TRANSACTION 'refused'")


def test_a_role_that_could_call_before_needs_no_new_right(
    database: TestDatabase,
) -> None:
    """The front door runs with its caller's rights (docs/settle.md)."""
    connection = database.connect()
    role = sql.Identifier(f"shop_{new_id().hex}")
    for statement in (
        "CREATE ROLE {} NOLOGIN",
        "GRANT USAGE ON SCHEMA counterfoil TO {}",
        "GRANT SELECT ON counterfoil.installation TO {}",
        "GRANT SELECT ON counterfoil.test_clock TO {}",
        "GRANT SELECT, INSERT ON counterfoil.events, counterfoil.jobs TO {}",
        "GRANT USAGE, SELECT ON SEQUENCE counterfoil.position_seq TO {}",
    ):
        connection.execute(sql.SQL(statement).format(role))
    try:
        with connection.transaction():
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(role))
            told = connection.execute(ENQUEUE).fetchall()
    finally:
        connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
        connection.execute(sql.SQL("DROP ROLE {}").format(role))

    assert told[0][0]["duplicate"] is False


def test_a_look_passes_by_what_expired_while_an_old_snapshot_keeps_it(
    database: TestDatabase,
) -> None:
    """A day of signs that vacuum may not remove costs a look nothing."""
    connection, reader = database.connect(), database.connect()
    reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    reader.execute("SELECT 1")
    connection.execute(
        """
        INSERT INTO counterfoil.idle_signs (until, boot, queues)
        SELECT counterfoil.now() - n * interval '1 second', gen_random_uuid(),
               '{default}'
          FROM generate_series(1, 50000) n
        """
    )
    connection.execute("DELETE FROM counterfoil.idle_signs")
    connection.execute("VACUUM ANALYZE counterfoil.idle_signs")

    (plan,) = connection.execute(
        """
        EXPLAIN (ANALYZE, BUFFERS, FORMAT json)
        SELECT FROM counterfoil.idle_signs s WHERE s.until > counterfoil.now()
        """
    ).fetchall()

    (top,) = plan[0]
    touched = top["Plan"]["Shared Hit Blocks"] + top["Plan"]["Shared Read Blocks"]
    assert touched < 10
