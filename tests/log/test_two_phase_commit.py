"""What writes the log can be prepared: PostgreSQL refuses that after a NOTIFY.

`NOTIFY` in writing transactions serialises their commits in the whole cluster.
"""

from collections.abc import Callable
from typing import Any, cast

import psycopg
import pytest
from psycopg import sql

from infrastructure.ids import new_id
from infrastructure.log.appending import NewRow, append
from infrastructure.postgres.appending import write
from infrastructure.postgres.database import Connection
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.jobs import births, job_refs

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

ENQUEUE = """
SELECT counterfoil.enqueue('{"kind": "test", "notify": false}')
"""

SETTLE = """
SELECT counterfoil.settle_order('{
    "orderId": "A-1", "customerId": "C-1", "kind": "purchase", "currency": "EUR",
    "amountMinor": 1490, "lines": [{"line": 1, "type": "access", "days": 30}]
}')
"""


def by_the_batch_store(connection: Connection) -> None:
    group = births(job_refs(3))
    changes = group.decide({}, cast("Any", None))
    assert isinstance(changes, tuple)
    write(connection, [(group, changes)], new_id())


def by_the_librarys_door(connection: Connection) -> None:
    append(connection, [NewRow("default", new_id(), 1, "test.happened", 1, "{}", "{}")])


def by_enqueuing(connection: Connection) -> None:
    connection.execute(ENQUEUE)


def by_settling(connection: Connection) -> None:
    connection.execute(SETTLE)


@pytest.mark.parametrize(
    "writing",
    [by_the_batch_store, by_the_librarys_door, by_enqueuing, by_settling],
    ids=lambda writing: writing.__name__,
)
def test_no_writer_of_the_log_notifies(
    writing: Callable[[Connection], None], database: TestDatabase
) -> None:
    connection = database.connect()
    name = sql.Literal(f"prepared-{new_id()}")

    connection.execute("BEGIN")
    writing(connection)
    connection.execute(sql.SQL("PREPARE TRANSACTION {}").format(name))
    connection.execute(sql.SQL("COMMIT PREPARED {}").format(name))

    (row,) = connection.execute("SELECT count(*) FROM counterfoil.events").fetchall()
    assert row[0] > 0


def test_a_transaction_that_notifies_cannot_be_prepared(database: TestDatabase) -> None:
    """The control."""
    connection = database.connect()
    connection.execute("BEGIN")
    connection.execute("NOTIFY anybody")

    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("PREPARE TRANSACTION 'refused'")
