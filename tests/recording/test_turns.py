"""Races are repeated, refusals write nothing, and a key stands for what was done."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from application.errors import VersionChangedError
from application.once.commit import AnsweredBeforeError
from application.operators.taken import Deed, taken
from application.unit import Once
from domain.operators.actions import QUEUE_LIMITED
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import REPEATS
from infrastructure.postgres.database import Connection, Database
from infrastructure.recording.recorded import Turn, recorded
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.once.asked import keys, once
from tests.recording.deeds import WHY
from tests.store.test_races import lose_races

pytestmark = pytest.mark.database

QUEUE = "bulk"
ONCE = once(status=200).making("queue", QUEUE)


def version(connection: Connection) -> int:
    ((found,),) = connection.execute(
        "SELECT coalesce(max(version), 0)::int FROM counterfoil.queues"
    ).fetchall()
    return int(str(found))


def lock(connection: Connection) -> int:
    connection.execute("LOCK TABLE counterfoil.queues IN EXCLUSIVE MODE")
    return version(connection)


def raised(pool: Database, expected: int, key: Once | None = ONCE) -> int:
    """Return the position of the record that the version is one more."""

    def make(turn: Turn[int], found: int) -> int:
        if found != expected:
            raise VersionChangedError(QUEUE)
        turn.connection.execute(
            """
            INSERT INTO counterfoil.queues AS q (name, version) VALUES ('bulk', 1)
                ON CONFLICT (name) DO UPDATE SET version = q.version + 1
            """
        )
        deed = Deed(action=QUEUE_LIMITED, target_kind="queue", target="queue:bulk")
        return turn.record(taken(deed, {}, {}), WHY.meta("queue:bulk"), int)

    return recorded(pool, lock, make, once=key)


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.url, pool_size=2) as pool:
        yield pool


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def n_events(connection: psycopg.Connection[Any]) -> int:
    ((n,),) = connection.execute("SELECT count(*) FROM counterfoil.events").fetchall()
    return int(n)


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_a_race_is_repeated_five_times_and_then_given_up(
    state: str,
    database: TestDatabase,
    pool: Database,
    connection: psycopg.Connection[Any],
) -> None:
    lose_races(database, state, 2 * REPEATS + 1)

    with pytest.raises(DatabaseUnavailableError):
        raised(pool, 0)
    assert (version(connection), n_events(connection), keys(connection)) == (0, 0, [])
    assert raised(pool, 0)

    tries = connection.execute("SELECT last_value FROM counterfoil.test_races")
    assert tries.fetchone() == (2 * REPEATS + 2,)
    assert (version(connection), n_events(connection)) == (1, 1)


def test_a_lock_is_asked_for_as_long_as_whoever_has_it_may_be_frozen(
    database: TestDatabase, pool: Database, connection: psycopg.Connection[Any]
) -> None:
    """Each time it waits 2 s; here it does not."""
    lose_races(database, "55P03", 3 * REPEATS)

    assert raised(pool, 0)

    assert (version(connection), n_events(connection)) == (1, 1)


def test_whoever_has_seen_another_version_is_refused_and_uses_up_no_key(
    pool: Database, connection: psycopg.Connection[Any]
) -> None:
    raised(pool, 0, None)

    with pytest.raises(VersionChangedError):
        raised(pool, 0)

    assert (version(connection), n_events(connection), keys(connection)) == (1, 1, [])
    assert raised(pool, 1)
    assert len(keys(connection)) == 1


def test_under_a_key_it_is_done_once_whatever_became_of_the_answer(
    proxy: Proxy, connection: psycopg.Connection[Any]
) -> None:
    plans = proxy.cut_before_commit(of="bulk"), proxy.cut_commit_answer(of="bulk")
    with Database(proxy.conninfo, pool_size=2) as pool:
        position = raised(pool, 0)

        with pytest.raises(AnsweredBeforeError) as before:
            raised(pool, 1)

    for plan in plans:
        plan.wait()
    assert position > 0
    assert before.value.answer == ONCE.answer()
    assert (version(connection), n_events(connection)) == (1, 1)


def test_what_records_nothing_uses_up_no_key(
    pool: Database, connection: psycopg.Connection[Any]
) -> None:
    assert recorded(pool, lock, lambda _turn, found: found, once=ONCE) == 0

    assert keys(connection) == []
