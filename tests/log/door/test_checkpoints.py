"""Mechanisms 5 and I7: position and view move in one transaction, or neither does."""

from collections.abc import Iterator

import psycopg
import pytest
from eventsourcing.persistence import IntegrityError, OperationalError, Tracking

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.log.checkpoints import CheckpointRecorder
from infrastructure.log.datastore import LogUnavailableError, PooledDatastore
from infrastructure.postgres.database import Database
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.door.library import datastore_of

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]


class CountingView(CheckpointRecorder):
    """A projection's recorder: counts what it saw, and can be made to fail."""

    def count(self, tracking: Tracking, by: int = 1) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute("UPDATE counted SET seen = seen + %(by)s", {"by": by})

    def seen(self) -> int:
        with self.datastore.cursor() as cursor:
            row = cursor.execute("SELECT seen FROM counted").fetchone()
        assert row is not None
        return int(row["seen"])


@pytest.fixture
def view(database: TestDatabase) -> Iterator[CountingView]:
    connection = database.connect()
    connection.execute("CREATE TABLE counted (seen bigint NOT NULL CHECK (seen >= 0))")
    connection.execute("INSERT INTO counted VALUES (0)")
    datastore = datastore_of(database.conninfo)
    yield CountingView(datastore)
    datastore.close()


def test_position_and_view_are_committed_together(view: CountingView) -> None:
    view.count(Tracking("log", 7))

    assert (view.max_tracking_id("log"), view.seen()) == (7, 1)


def test_a_view_that_fails_leaves_its_position_behind(view: CountingView) -> None:
    view.count(Tracking("log", 7))

    with pytest.raises(IntegrityError):
        view.count(Tracking("log", 8), by=-5)

    assert (view.max_tracking_id("log"), view.seen()) == (7, 1)


@pytest.mark.parametrize("again", [7, 6])
def test_an_event_that_was_seen_is_not_counted_again(
    again: int, view: CountingView
) -> None:
    view.count(Tracking("log", 7))

    with pytest.raises(IntegrityError):
        view.count(Tracking("log", again))

    assert (view.max_tracking_id("log"), view.seen()) == (7, 1)


def test_a_checkpoint_says_when_it_last_moved(
    view: CountingView, database: TestDatabase
) -> None:
    connection = database.connect()
    view.count(Tracking("log", 7))
    moved = connection.execute("SELECT updated_at FROM counterfoil.checkpoints")
    (first,) = moved.fetchall()

    view.count(Tracking("log", 8))

    rows = connection.execute(
        "SELECT name, position, updated_at > %(first)s FROM counterfoil.checkpoints",
        {"first": first[0]},
    ).fetchall()
    assert rows == [("notification:log", 8, True)]


def test_two_projections_of_one_log_keep_their_own_checkpoints(
    database: TestDatabase,
) -> None:
    with datastore_of(database.conninfo) as datastore:
        audit = CheckpointRecorder(datastore, tracking_table_name="audit_tracking")
        lag = CheckpointRecorder(datastore, tracking_table_name="lag_tracking")

        audit.insert_tracking(Tracking("log", 7))
        lag.insert_tracking(Tracking("log", 3))

        assert audit.max_tracking_id("log") == 7
        assert lag.max_tracking_id("log") == 3


@pytest.fixture
def opened(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=2) as opened:
        yield opened


def test_a_locked_checkpoint_moves_only_from_where_it_is(opened: Database) -> None:
    recorder = CheckpointRecorder(PooledDatastore(opened))

    with recorder.datastore.transaction(commit=True) as cursor:
        assert recorder.lock(cursor, "log") == 0
        recorder.move(cursor, Tracking("log", 7), after=0)

    for after, to in [(0, 9), (6, 9), (8, 9), (7, 7), (7, 6)]:
        with (
            pytest.raises(IntegrityError),
            recorder.datastore.transaction(commit=True) as cursor,
        ):
            recorder.move(cursor, Tracking("log", to), after=after)
    assert recorder.max_tracking_id("log") == 7


def test_whoever_finds_a_checkpoint_locked_does_not_wait(opened: Database) -> None:
    recorder = CheckpointRecorder(PooledDatastore(opened))
    recorder.insert_tracking(Tracking("log", 7))

    with recorder.datastore.transaction(commit=True) as cursor:
        assert recorder.lock(cursor, "log") == 7
        with recorder.datastore.transaction(commit=True) as other:
            assert recorder.lock(other, "log") is None


def test_a_database_that_is_away_is_told_in_our_words_and_the_librarys(
    database: TestDatabase,
) -> None:
    opened = Database(database.conninfo, pool_size=1)
    recorder = CheckpointRecorder(PooledDatastore(opened))

    with pytest.raises(LogUnavailableError) as told:
        recorder.max_tracking_id("log")

    assert isinstance(told.value, OperationalError)
    assert isinstance(told.value, DatabaseUnavailableError)


def test_an_impossible_checkpoint_is_refused(database: TestDatabase) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        database.connect().execute(
            "INSERT INTO counterfoil.checkpoints (name, position) VALUES ('log', -1)"
        )
