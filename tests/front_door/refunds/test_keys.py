"""I5: an order is refunded once, whoever comes second, and however; I1: or not."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import sql

from application.front_door import KeyReusedError
from domain.errors import InvalidRequestError
from infrastructure.client import Client
from infrastructure.ids import new_id
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.notices import heard, listening
from tests.front_door import rows
from tests.front_door.asked import Request
from tests.front_door.conftest import wait_until_blocked
from tests.front_door.rows import Connection

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

ORDER: Request = {
    "orderId": "o",
    "customerId": "c",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}
REFUND: Request = {"orderId": "o", "reason": "charged back"}
NOTHING = dict.fromkeys(rows.TABLES, 0)
ONE_REFUND = NOTHING | {"events": 1, "external_keys": 1, "jobs": 1}
SAY_IDLE = """
INSERT INTO counterfoil.idle_signs (until, boot, queues)
VALUES (counterfoil.now() + '1 hour', gen_random_uuid(), '{critical,default}')
"""


def refund(connection: Connection, request: Request = REFUND) -> dict[str, Any]:
    (answer,) = rows.one(
        connection, "SELECT counterfoil.refund_order(%s::jsonb)", json.dumps(request)
    )
    return dict(answer)


def test_i5_the_same_refund_again_answers_what_was_stored(
    connection: Connection,
) -> None:
    settled = Client(connection).settle_order(ORDER)
    first = refund(connection)
    before = rows.counted(connection)

    again = refund(connection, REFUND | {"notify": False, "lines": None})

    assert first["streamId"] == str(settled.stream_id)
    assert again == first | {"replayed": True}
    assert rows.counted(connection) == before


@pytest.mark.parametrize(
    "other",
    [
        {"reason": "another reason"},
        {"amountMinor": 1},
        {"lines": [1]},
        {"correlationId": "x"},
    ],
)
def test_i5_another_refund_of_the_same_order_is_refused(
    connection: Connection, other: Request
) -> None:
    refund(connection)
    before = rows.counted(connection)

    with pytest.raises(psycopg.DatabaseError) as refused:
        refund(connection, REFUND | other)

    assert refused.value.sqlstate == "CF409"
    assert refused.value.diag.message_hint == "idempotency_key_reused"
    assert refused.value.diag.message_detail == "orderId"
    assert rows.counted(connection) == before


def test_a_refund_of_another_tenant_is_another_one(connection: Connection) -> None:
    first = refund(connection)

    other = refund(connection, REFUND | {"tenant": "other"})

    assert (other["replayed"], other["jobId"] != first["jobId"]) == (False, True)


def test_a_refund_that_comes_before_its_order_names_none_yet(
    connection: Connection,
) -> None:
    first = refund(connection)
    settled = Client(connection).settle_order(ORDER)

    again = refund(connection)

    assert first["streamId"] is None
    assert again["streamId"] == str(settled.stream_id)
    assert again["jobId"] == first["jobId"]


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "rollback"])
def test_s12_the_second_of_two_at_once_waits_for_the_first(
    database: TestDatabase,
    commit: bool,  # noqa: FBT001 - the way of this row
) -> None:
    first, second, watcher = (database.connect() for _ in range(3))

    with ThreadPoolExecutor(1) as threads:
        with first.transaction(force_rollback=not commit):
            early = refund(first)
            late: Future[dict[str, Any]] = threads.submit(refund, second)
            wait_until_blocked(watcher, second.info.backend_pid, first.info.backend_pid)
        answer = late.result(timeout=20)

    assert answer["replayed"] is commit
    assert (answer["jobId"] == early["jobId"]) is commit
    assert rows.counted(watcher) == ONE_REFUND


def test_i1_a_refund_and_the_shops_own_rows_stand_or_fall_together(
    database: TestDatabase,
) -> None:
    shop, watcher = database.connect(), database.connect()

    with shop.transaction(force_rollback=True):
        refund(shop)
        assert rows.counted(watcher) == NOTHING
    assert rows.counted(watcher) == NOTHING

    with shop.transaction():
        refund(shop)
    assert rows.counted(watcher) == ONE_REFUND


def test_a_caller_who_idles_after_a_refund_holds_up_no_order(
    database: TestDatabase,
) -> None:
    """Mechanisms 13: nothing is locked that somebody else can be waiting for."""
    idler, other = database.connect(), database.connect()
    Client(other).settle_order(ORDER)
    other.execute("SET lock_timeout = '100ms'")

    with idler.transaction():
        refund(idler)

        other.execute("SELECT 1 FROM counterfoil.orders FOR UPDATE NOWAIT")
        other.execute("SELECT 1 FROM counterfoil.jobs FOR UPDATE NOWAIT")
        Client(other).settle_order(ORDER | {"orderId": "p"})
        Client(other).refund_order(REFUND | {"orderId": "p"})


def test_a_refund_wakes_who_is_idle_unless_it_says_otherwise(
    database: TestDatabase,
) -> None:
    listener, shop = listening(database), database.connect()
    shop.execute(SAY_IDLE)

    refund(shop, REFUND | {"notify": False})
    refund(shop)
    assert heard(listener, shop) == []
    refund(shop, REFUND | {"orderId": "p"})

    assert heard(listener, shop) == ["critical"]


def test_the_client_answers_and_refuses_in_its_own_words(
    connection: Connection,
) -> None:
    client = Client(connection)
    settled = client.settle_order(ORDER)

    asked = client.refund_order(REFUND)

    assert (asked.order_id, asked.replayed) == ("o", False)
    assert asked.stream_id == settled.stream_id
    assert client.refund_order(REFUND).replayed
    with pytest.raises(KeyReusedError) as reused:
        client.refund_order(REFUND | {"amountMinor": 1})
    assert (reused.value.code, reused.value.path) == (
        "idempotency_key_reused",
        "orderId",
    )
    with pytest.raises(InvalidRequestError) as wrong:
        client.refund_order({"orderId": "o", "reason": "no"})
    assert (wrong.value.code, wrong.value.path) == ("invalid_member", "reason")


def test_a_role_that_settles_needs_no_new_right_to_refund(
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
        (
            "GRANT SELECT, INSERT ON counterfoil.events, counterfoil.external_keys,"
            " counterfoil.jobs TO {}"
        ),
        "GRANT USAGE, SELECT ON SEQUENCE counterfoil.position_seq TO {}",
    ):
        connection.execute(sql.SQL(statement).format(role))
    try:
        with connection.transaction():
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(role))
            answer = refund(connection)
    finally:
        connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
        connection.execute(sql.SQL("DROP ROLE {}").format(role))

    assert answer["replayed"] is False
