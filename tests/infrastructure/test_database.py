"""Connections: one make, limits in each transaction, losses in our own words."""

import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.errors import (
    InFailedSqlTransaction,
    LockNotAvailable,
    SerializationFailure,
    UniqueViolation,
)
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool
from psycopg_pool.pool import AddConnection, MaintenanceTask

from infrastructure.errors import (
    CommitUnknownError,
    ConfigurationError,
    DatabaseUnavailableError,
)
from infrastructure.postgres.database import (
    Connection,
    Database,
    connect,
    require_version,
    transaction,
    unavailable_in_our_words,
)
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import until

pytestmark = pytest.mark.database

INSTANT = "SELECT timestamptz '2031-05-06 07:08:09.000123+05:30'"
LIMITS = (
    "SELECT current_setting('lock_timeout'),"
    " current_setting('idle_in_transaction_session_timeout')"
)
KILL_ME = "SELECT pg_terminate_backend(pg_backend_pid())"
WRITE_AND_DIE = (
    "INSERT INTO t VALUES (1); SELECT pg_terminate_backend(pg_backend_pid())"
)


@pytest.fixture
def table(database: TestDatabase) -> Connection:
    connection = database.connect()
    connection.execute("CREATE TABLE t (n int PRIMARY KEY)")
    return connection


def count(connection: Connection) -> object:
    row = connection.execute("SELECT count(*) FROM t").fetchone()
    assert row
    return row[0]


def insert_twice(connection: Connection) -> None:
    connection.execute("INSERT INTO t VALUES (1)")
    connection.execute("INSERT INTO t VALUES (1)")


@ON_BOTH_SERVERS
def test_a_connection_commits_each_statement_and_sets_nothing(
    database: TestDatabase,
) -> None:
    connection = database.connect()

    assert connection.autocommit
    assert connection.execute(LIMITS).fetchone() == ("0", "0")
    assert connection.info.transaction_status == TransactionStatus.IDLE


@ON_BOTH_SERVERS
@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/St_Johns", "UTC"])
@pytest.mark.parametrize("binary", [False, True])
def test_instants_come_back_in_utc_whatever_the_session_says(
    database: TestDatabase, zone: str, *, binary: bool
) -> None:
    connection = database.connect()
    connection.execute("SELECT set_config('TimeZone', %s, false)", (zone,))

    row = connection.execute(INSTANT, binary=binary).fetchone()

    assert row == (datetime(2031, 5, 6, 1, 38, 9, 123, tzinfo=UTC),)
    assert isinstance(row[0], datetime)
    assert row[0].tzinfo is UTC


@given(
    instant=st.datetimes(timezones=st.just(UTC)),
    zone=st.sampled_from(
        ["Asia/Kolkata", "America/St_Johns", "UTC", "Africa/Monrovia"]
    ),
    binary=st.booleans(),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_instant_survives_the_way_to_the_database_and_back(
    table: Connection, instant: datetime, zone: str, *, binary: bool
) -> None:
    table.execute("SELECT set_config('TimeZone', %s, false)", (zone,))

    try:
        row = table.execute(
            "SELECT %s::timestamptz", (instant,), binary=binary
        ).fetchone()
    except psycopg.DataError:  # the session's zone shifts it beyond the years 1..9999
        assert (
            not datetime(1, 1, 3, tzinfo=UTC)
            < instant
            < datetime(9999, 12, 30, tzinfo=UTC)
        )
        return

    assert row == (instant,)


@pytest.mark.parametrize(
    "instant", ["infinity", "-infinity", "20000-01-01", "4000-01-01 BC"]
)
@pytest.mark.parametrize("binary", [False, True])
def test_an_instant_that_python_lacks_is_a_data_error(
    table: Connection, instant: str, *, binary: bool
) -> None:
    with pytest.raises(psycopg.DataError):
        table.execute(
            "SELECT %s::text::timestamptz", (instant,), binary=binary
        ).fetchone()


@ON_BOTH_SERVERS
def test_a_transaction_has_limits_that_end_with_it(database: TestDatabase) -> None:
    connection = database.connect()

    with transaction(connection):
        inside = connection.execute(LIMITS).fetchone()

    assert inside == ("2s", "10s")
    assert connection.execute(LIMITS).fetchone() == ("0", "0")


def test_what_frames_a_transaction_is_never_prepared(table: Connection) -> None:
    """An older PgBouncer knows no prepared statements; 20 is beyond the threshold."""
    for _ in range(20):
        with transaction(table):
            pass

    assert table.execute("TABLE pg_prepared_statements").fetchall() == []


def test_a_pipeline_inside_a_transaction_commits_with_it(table: Connection) -> None:
    with transaction(table):
        with table.pipeline():
            inside = table.execute(LIMITS)
            table.execute("INSERT INTO t VALUES (1)")
        assert inside.fetchone() == ("2s", "10s")

    assert count(table) == 1


def test_a_pipeline_around_a_transaction_is_refused(table: Connection) -> None:
    """Its commit would be one of many messages, and nobody would know in time."""
    with table.pipeline(), pytest.raises(RuntimeError), transaction(table):
        pass

    assert table.info.transaction_status == TransactionStatus.IDLE


def test_a_transaction_commits_at_its_end(table: Connection) -> None:
    with transaction(table):
        table.execute("INSERT INTO t VALUES (1)")

    assert count(table) == 1


def test_an_error_rolls_back_and_keeps_its_class(table: Connection) -> None:
    with pytest.raises(UniqueViolation), transaction(table):
        insert_twice(table)

    assert count(table) == 0


def test_an_error_in_a_pipeline_rolls_back_and_keeps_its_class(
    table: Connection,
) -> None:
    with pytest.raises(UniqueViolation), transaction(table), table.pipeline():
        insert_twice(table)

    assert count(table) == 0


def test_an_error_that_was_swallowed_does_not_pass_for_a_commit(
    table: Connection,
) -> None:
    with (
        pytest.raises(InFailedSqlTransaction),
        transaction(table),
        suppress(UniqueViolation),
    ):
        insert_twice(table)

    assert count(table) == 0
    assert table.info.transaction_status == TransactionStatus.IDLE


def test_savepoints_inside_a_transaction_roll_back_alone(table: Connection) -> None:
    with transaction(table):
        table.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(UniqueViolation), table.transaction():
            table.execute("INSERT INTO t VALUES (1)")
        table.execute("INSERT INTO t VALUES (2)")

    assert count(table) == 2


def test_a_lock_is_waited_for_two_seconds(
    table: Connection, database: TestDatabase
) -> None:
    other = database.connect()
    with transaction(table):
        table.execute("LOCK TABLE t")
        begun = time.monotonic()
        with pytest.raises(LockNotAvailable), transaction(other):
            other.execute("INSERT INTO t VALUES (1)")

    assert time.monotonic() - begun > 1.5


def test_a_connection_that_is_lost_before_the_commit_is_unavailable(
    table: Connection, database: TestDatabase
) -> None:
    lost = database.connect()

    with pytest.raises(DatabaseUnavailableError) as refused, transaction(lost):
        lost.execute(WRITE_AND_DIE)

    assert not isinstance(refused.value, CommitUnknownError)
    assert count(table) == 0
    assert lost.closed


IDLE_OUT = "SET LOCAL idle_in_transaction_session_timeout = '1ms'"


def sleep_too_long(
    database: TestDatabase, connection: Connection, *then: LiteralString
) -> None:
    """Let the server end a transaction in its sleep, then go on with it."""
    watcher = database.connect()
    alive = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
    backend = connection.info.backend_pid
    with transaction(connection):
        connection.execute(IDLE_OUT)
        until(lambda: watcher.execute(alive, (backend,)).fetchone() is None)
        for statement in then:
            connection.execute(statement)


def test_a_transaction_that_slept_for_too_long_is_unavailable(
    database: TestDatabase, table: Connection
) -> None:
    """A worker that was frozen meanwhile must not take its data for the culprit."""
    with pytest.raises(DatabaseUnavailableError) as refused:
        sleep_too_long(database, table, "INSERT INTO t VALUES (1)")

    assert not isinstance(refused.value, CommitUnknownError)
    assert table.closed


def test_a_transaction_that_slept_before_its_commit_is_unknown(
    database: TestDatabase, table: Connection
) -> None:
    with pytest.raises(CommitUnknownError):
        sleep_too_long(database, table)


def test_a_commit_whose_answer_is_lost_is_unknown(
    table: Connection, proxy: Proxy
) -> None:
    proxy.cut_commit_answer()

    with (
        pytest.raises(CommitUnknownError),
        connect(proxy.conninfo) as lost,
        transaction(lost),
    ):
        lost.execute("INSERT INTO t VALUES (1)")

    assert count(table) == 1


def test_a_refusal_is_no_loss() -> None:
    with pytest.raises(SerializationFailure), unavailable_in_our_words():
        raise SerializationFailure


@pytest.mark.parametrize("version", [140_012, 90_624])
def test_a_server_that_is_too_old_is_refused_with_its_version(version: int) -> None:
    with pytest.raises(ConfigurationError) as refused:
        require_version(version)

    assert str(version // 10_000) in str(refused.value)
    assert "PostgreSQL 15 or later is needed" in str(refused.value)


@pytest.mark.parametrize("version", [150_000, 180_006])
def test_a_server_that_is_new_enough_is_taken(version: int) -> None:
    require_version(version)


def test_an_address_where_nobody_answers_is_unavailable_and_shows_no_password() -> None:
    address = "postgresql://shop:hunter2@/orders?host=/nonexistent"

    with pytest.raises(DatabaseUnavailableError) as refused:
        connect(address)

    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_pool_gives_connections_of_our_make(database: TestDatabase) -> None:
    with Database(database.conninfo, pool_size=2) as pooled:
        with pooled.connection() as connection:
            first = connection.execute(INSTANT).fetchone()
            assert connection.autocommit
        with pooled.transaction() as connection:
            assert connection.execute(LIMITS).fetchone() == ("2s", "10s")
        direct = pooled.connect()
        assert direct.execute(INSTANT).fetchone() == first
        direct.close()


def test_a_pool_replaces_what_it_lost(database: TestDatabase) -> None:
    with Database(database.conninfo, pool_size=1) as pooled:
        with (
            pytest.raises(DatabaseUnavailableError),
            pooled.transaction() as connection,
        ):
            connection.execute(KILL_ME)

        with pooled.transaction() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.long
def test_a_pool_looks_for_a_lost_database_every_second_however_long_it_is_away(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []
    tried_often = threading.Event()

    def run_at_once(
        pool: ConnectionPool[Any], task: MaintenanceTask, delay: float
    ) -> None:
        if isinstance(task, AddConnection):
            delays.append(delay)
            if len(delays) < 12:
                pool.run_task(task)
            else:
                tried_often.set()

    monkeypatch.setattr(ConnectionPool, "schedule_task", run_at_once)
    with Database(proxy.conninfo, pool_size=1) as pooled:
        proxy.close()

        with (
            pytest.raises(DatabaseUnavailableError),
            pooled.connection() as connection,
        ):
            connection.execute("SELECT 1")
        assert tried_often.wait(20)
        assert max(delays) <= 1


def test_a_closed_pool_is_unavailable(database: TestDatabase) -> None:
    pooled = Database(database.conninfo, pool_size=1)
    with pooled:
        pass

    with pytest.raises(DatabaseUnavailableError), pooled.connection():
        pass


def test_opening_tells_a_wrong_address_at_once(database: TestDatabase) -> None:
    wrong = database.conninfo.replace("/test_", "/no_such_")

    with pytest.raises(DatabaseUnavailableError, match="no_such_"):
        Database(wrong, pool_size=1).open()


def test_a_connection_is_tried_for_until_it_is_there(
    empty_database: str, database: TestDatabase
) -> None:
    del empty_database
    admin = database.connect()
    admin.execute("CREATE ROLE late NOLOGIN")
    late = Database(database.conninfo.replace("postgres@", "late@"), pool_size=1)
    found: list[Connection | None] = []
    seeker = threading.Thread(
        target=lambda: found.append(late.connect_with_backoff(threading.Event()))
    )
    try:
        seeker.start()
        seeker.join(0.2)
        assert found == []
        admin.execute("ALTER ROLE late LOGIN")
        seeker.join(20)
        (connection,) = found
        assert connection
        connection.close()
    finally:
        admin.execute("ALTER ROLE late LOGIN")
        seeker.join()
        admin.execute("DROP ROLE late")


def test_trying_ends_when_it_is_told_to_stop() -> None:
    stop = threading.Event()
    nobody = Database("postgresql://x@/x?host=/nonexistent", pool_size=1)
    found: list[Connection | None] = []
    seeker = threading.Thread(
        target=lambda: found.append(nobody.connect_with_backoff(stop))
    )
    seeker.start()

    stop.set()
    seeker.join(20)

    assert found == [None]


def test_time_in_a_test_moves_for_every_statement(database: TestDatabase) -> None:
    connection = database.connect()

    def now() -> datetime:
        row = connection.execute("SELECT counterfoil.now()").fetchone()
        assert row
        assert isinstance(row[0], datetime)
        return row[0]

    before = now()
    database.advance(timedelta(days=1))
    database.advance(timedelta(hours=1))

    assert timedelta(days=1, hours=1) <= now() - before < timedelta(days=1, hours=2)


def test_whoever_will_not_wait_for_a_connection_is_told_so(
    database: TestDatabase,
) -> None:
    with Database(database.conninfo, pool_size=1) as impatient:
        impatient.wait_seconds = 0.05
        with (
            impatient.connection(),
            pytest.raises(DatabaseUnavailableError) as refused,
            impatient.connection(),
        ):
            pass

    assert "0.05" in str(refused.value.__cause__)
