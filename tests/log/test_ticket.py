"""Mechanisms 1: one ticket per writing transaction, and no way around it."""

from typing import LiteralString

import psycopg
import pytest
from psycopg import sql

from infrastructure.ids import new_id
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.limits.room import limit
from tests.log.plain import append, horizon, last_position, tickets

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

MANY_ENQUEUES = """
SELECT count(counterfoil.enqueue('{"kind": "test"}')) FROM generate_series(1, 50000)
"""

MANY_APPENDS = """
DO $$
BEGIN
    FOR n IN 1..5000 LOOP
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        VALUES ('default', counterfoil.uuid7(), 1, 'test.happened', 1, '{}', '{}');
    END LOOP;
END
$$
"""


@pytest.mark.parametrize(
    ("statement", "events"),
    [(MANY_ENQUEUES, 50_000), (MANY_APPENDS, 5_000)],
    ids=["enqueues", "appends"],
)
def test_tens_of_thousands_of_appends_in_one_transaction_hold_one_lock(
    statement: LiteralString, events: int, database: TestDatabase
) -> None:
    writer, watcher = database.connect(), database.connect()
    limit(writer)

    with writer.transaction():
        writer.execute(statement)

        assert tickets(watcher) == [0]
        assert last_position(watcher) == events
        assert horizon(watcher) == 0

    assert tickets(watcher) == []
    assert horizon(watcher) == events


def test_a_ticket_is_the_position_before_the_first_of_its_transaction(
    database: TestDatabase,
) -> None:
    writer, watcher = database.connect(), database.connect()
    (before,) = append(writer)

    with writer.transaction():
        (position,) = append(writer)
        append(writer)

        assert tickets(watcher) == [before]
        assert position > before


def test_a_transaction_that_appends_nothing_holds_nobody_back(
    database: TestDatabase,
) -> None:
    idler, writer = database.connect(), database.connect()

    with idler.transaction():
        idler.execute("CREATE TEMPORARY TABLE busy AS SELECT * FROM counterfoil.events")
        (position,) = append(writer)

        assert horizon(writer) == position


def test_a_savepoint_rolled_back_gives_its_ticket_back_and_may_be_used_again(
    database: TestDatabase,
) -> None:
    writer, watcher = database.connect(), database.connect()
    (first,) = append(writer)

    with writer.transaction():
        with writer.transaction(force_rollback=True):
            append(writer)
            assert tickets(watcher) == [first]
        assert tickets(watcher) == []
        (other,) = append(watcher)
        with writer.transaction():
            (position,) = append(writer)
        assert tickets(watcher) == [other]
        assert horizon(watcher) == other

    assert horizon(watcher) == position


def test_a_ticket_taken_before_a_savepoint_outlives_its_rollback(
    database: TestDatabase,
) -> None:
    writer, watcher = database.connect(), database.connect()

    with writer.transaction():
        append(writer)
        with writer.transaction(force_rollback=True):
            append(writer)
        append(writer)

        assert tickets(watcher) == [0]


def test_a_rolled_back_transaction_holds_nobody_back(database: TestDatabase) -> None:
    writer, watcher = database.connect(), database.connect()

    with writer.transaction(force_rollback=True):
        append(writer)
    (position,) = append(watcher)

    assert tickets(watcher) == []
    assert horizon(watcher) == position


def test_a_prepared_transaction_keeps_its_ticket_until_it_is_committed(
    database: TestDatabase,
) -> None:
    writer, watcher = database.connect(), database.connect()
    # Of the whole server's one space of names.
    name = sql.Literal(f"prepared-{new_id()}")

    writer.execute("BEGIN")
    (prepared,) = append(writer)
    writer.execute(sql.SQL("PREPARE TRANSACTION {}").format(name))
    (later,) = append(watcher)

    assert tickets(watcher) == [prepared - 1]
    assert horizon(watcher) == prepared - 1

    watcher.execute(sql.SQL("COMMIT PREPARED {}").format(name))
    assert horizon(watcher) == later


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("value", ["", "1", "by hand"])
def test_a_setting_made_by_hand_never_counts_as_a_ticket(
    local: bool,  # noqa: FBT001 - a parameter
    value: str,
    database: TestDatabase,
) -> None:
    writer, watcher = database.connect(), database.connect()

    with writer.transaction():
        writer.execute(
            "SELECT set_config('counterfoil.ticket', %(value)s, %(local)s)",
            {"value": value, "local": local},
        )
        append(writer)

        assert tickets(watcher) == [0]


def test_a_setting_left_over_by_another_transaction_never_counts(
    database: TestDatabase,
) -> None:
    writer, watcher = database.connect(), database.connect()
    with writer.transaction():
        (first,) = append(writer)
        # What a transaction-local setting would look like if it were not local.
        writer.execute(
            "SELECT set_config('counterfoil.ticket', pg_current_xact_id()::text, false)"
        )

    with writer.transaction():
        append(writer)

        assert tickets(watcher) == [first]


def test_readers_and_other_writers_are_never_blocked(database: TestDatabase) -> None:
    slow, quick = database.connect(), database.connect()
    quick.execute("SET lock_timeout = '1ms'")

    with slow.transaction():
        append(slow)
        append(quick)
        rows = quick.execute("SELECT count(*) FROM counterfoil.events").fetchone()

    assert rows == (1,)


def test_a_failed_append_leaves_no_ticket(database: TestDatabase) -> None:
    writer, watcher = database.connect(), database.connect()
    stream = new_id()
    append(writer, [stream])

    with pytest.raises(psycopg.errors.UniqueViolation):
        append(writer, [stream])

    assert tickets(watcher) == []
