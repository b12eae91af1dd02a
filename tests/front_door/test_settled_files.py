"""A file over the real front door: each order in a transaction of its own."""

import io

import pytest

from application.front_door import Settled
from application.settle_file import SettledFile, settle_file
from domain.event import JsonObject
from infrastructure.client import Client
from tests.front_door import rows
from tests.front_door.rows import Connection

pytestmark = pytest.mark.database

MAP: JsonObject = {
    "orderId": "{id}",
    "customerId": "{who}",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": "{paid:minor}",
    "lines": [{"line": 1, "type": "access", "days": "{days}"}],
}
FILE = b"id,who,paid,days\na,ann,1.00,30\nb,bob,1.00,0\nc,c d,1.00,1\nd,dan,0,36500\n"


def settle(connection: Connection) -> SettledFile:
    def one(request: JsonObject) -> Settled:
        with connection.transaction():
            return Client(connection).settle_order(request)

    return settle_file(io.BytesIO(FILE), MAP, one)


def test_bad_lines_are_named_with_their_members_and_the_rest_is_settled(
    connection: Connection,
) -> None:
    done = settle(connection)

    assert done.settled == 2
    assert [(bad.line, bad.path, bad.code) for bad in done.refused] == [
        (3, "lines[0].days", "invalid_member"),
        (4, "customerId", "invalid_member"),
    ]
    settled = {order["order_id"] for order in rows.stored(connection, "orders")}
    assert settled == {"a", "d"}


def test_the_same_file_again_changes_nothing(connection: Connection) -> None:
    settle(connection)
    before = {table: rows.stored(connection, table) for table in rows.TABLES}

    done = settle(connection)

    assert (done.settled, done.replayed) == (0, 2)
    assert {table: rows.stored(connection, table) for table in rows.TABLES} == before
