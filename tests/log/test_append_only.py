"""Mechanisms 4 and I11: keys of the log, tenants everywhere, history is append-only."""

from typing import Any

import psycopg
import pytest

from infrastructure.ids import new_id
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.plain import append

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

OF_THE_INSTALLATION = {
    "idle_signs",  # a worker serves all tenants
    "checkpoints",  # a projection follows the whole log
    "installation",
    "leadership",  # a role is had for the whole installation
    "lost_purchases",  # what a host's journal holds and the log lacks; keys say whose
    "restore_guard",  # a database is restored for everybody
    "limits",  # how many jobs may be pending, of each tenant and in all
    "projections",  # a projection folds the whole log
    "pending_counts",  # how many are pending in all
    "queues",  # a queue is everybody's
    "sign_in_attempts",  # whoever signs in says no tenant
    "schema_migrations",  # the migrator's own
    "test_clock",  # of test databases alone
    "workers",  # a process serves every tenant
}

TABLES_WITHOUT_TENANT = """
SELECT c.relname
  FROM pg_class c
 WHERE c.relnamespace = 'counterfoil'::regnamespace
   AND c.relkind IN ('r', 'p')
   AND NOT EXISTS (SELECT 1 FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attname = 'tenant_id'
                      AND a.attnotnull AND NOT a.attisdropped)
"""

KEYS_OF_EVENTS = """
SELECT array_agg(a.attname::text ORDER BY k.n)
  FROM pg_index i
 CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, n)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
 WHERE i.indrelid = 'counterfoil.events'::regclass AND i.indisunique
 GROUP BY i.indexrelid
"""


def refused(connection: psycopg.Connection[Any], statement: str) -> str | None:
    """Return the SQLSTATE with which `statement` is refused."""
    with pytest.raises(psycopg.DatabaseError) as refusal:
        connection.execute(statement)
    return refusal.value.sqlstate


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE counterfoil.events SET data = '{}'",
        "UPDATE counterfoil.events SET recorded_at = recorded_at - interval '1 day'",
        "DELETE FROM counterfoil.events",
        "TRUNCATE counterfoil.events",
    ],
)
def test_the_database_itself_refuses_to_change_history(
    statement: str, database: TestDatabase
) -> None:
    """I11."""
    connection = database.connect()
    append(connection)

    assert refused(connection, statement) == "CF409"
    assert connection.execute("SELECT count(*) FROM counterfoil.events").fetchone() == (
        1,
    )


def test_a_version_is_written_once(database: TestDatabase) -> None:
    connection = database.connect()
    stream = new_id()
    append(connection, [stream])

    with pytest.raises(psycopg.errors.UniqueViolation):
        append(connection, [stream])


def test_stream_and_version_and_position_are_the_keys(database: TestDatabase) -> None:
    keys = {tuple(key) for (key,) in database.connect().execute(KEYS_OF_EVENTS)}

    assert keys == {("stream_id", "version"), ("position",)}


def test_every_table_of_tenants_says_whose_its_rows_are(database: TestDatabase) -> None:
    without = {name for (name,) in database.connect().execute(TABLES_WITHOUT_TENANT)}

    assert without <= OF_THE_INSTALLATION


@pytest.mark.parametrize(
    ("column", "value"), [("version", "0"), ("schema", "0"), ("type", "''")]
)
def test_an_event_without_sense_is_refused(
    column: str, value: str, database: TestDatabase
) -> None:
    row = {
        "tenant_id": "'default'",
        "stream_id": "counterfoil.uuid7()",
        "version": "1",
        "type": "'test.happened'",
        "schema": "1",
        "data": "'{}'",
        "meta": "'{}'",
    } | {column: value}
    statement = (
        f"INSERT INTO counterfoil.events ({', '.join(row)}) "  # noqa: S608 - constants
        f"VALUES ({', '.join(row.values())})"
    )

    assert refused(database.connect(), statement) == "23514"
