"""A process leads projections, carries them forward, and gives them back (I7, I13)."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, override

import psycopg
import pytest

from infrastructure.leadership import STAND_SECONDS, TTL_SECONDS
from infrastructure.postgres.database import connect
from projections.read_models.all import ALL
from projections.read_models.jobs import Jobs
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_models_hold
from tests.fixtures.workers import until
from tests.projecting.runner.here import runner_here
from tests.projecting.runner.seen import is_caught_up

pytestmark = pytest.mark.database

TAKEOVER_SECONDS = 15
NAMES = sorted(each.name for each in ALL)


class Absent(Jobs):
    """A projection that the database does not know."""

    name: ClassVar[str] = "absent"


class NewerJobs(Jobs):
    """A later version of a projection."""

    schema: ClassVar[int] = 7


class Crashing(Jobs):
    """A projection whose code is broken."""

    name: ClassVar[str] = "crashing"

    @property
    @override
    def schema(self) -> int:  # type: ignore[override]
        msg = "broken"
        raise RuntimeError(msg)


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def enqueue(connection: psycopg.Connection[Any], n: int = 1) -> None:
    connection.execute(
        """
        SELECT counterfoil.enqueue('{"kind": "noop"}') FROM generate_series(1, %s)
        """,
        (n,),
    )


def test_a_takeover_is_over_in_time_by_arithmetic() -> None:
    """Of one that was renewed a moment before its holder died; a batch comes on top."""
    assert TTL_SECONDS + STAND_SECONDS + 2 <= TAKEOVER_SECONDS


def test_what_is_recorded_is_in_the_read_models_soon(
    database: TestDatabase, connection: psycopg.Connection[Any]
) -> None:
    enqueue(connection, 30)
    with runner_here(database, batch=7) as events:
        until(lambda: is_caught_up(connection))
        assert [each["projection"] for each in events.of("projection led")] == NAMES
        enqueue(connection, 5)
        until(lambda: is_caught_up(connection))
    assert_read_models_hold(connection)


def test_a_polite_stop_gives_everything_back_at_once(
    database: TestDatabase, connection: psycopg.Connection[Any]
) -> None:
    with runner_here(database) as first:
        first.wait_for("projection led", n=len(ALL))

    with runner_here(database) as second:
        second.wait_for("projection led", n=len(ALL), term=2)
    assert first.of("projecting stopped")
    assert len(first.of("projection left")) == len(ALL)
    held = connection.execute(
        "SELECT 1 FROM counterfoil.leadership WHERE expires_at > counterfoil.now()"
    )
    assert held.fetchall() == []


def test_of_two_runners_one_leads_and_the_other_waits(
    database: TestDatabase, connection: psycopg.Connection[Any]
) -> None:
    with runner_here(database) as first:
        first.wait_for("projection led", n=len(ALL))
        with runner_here(database) as second:
            enqueue(connection, 20)
            until(lambda: is_caught_up(connection))
            assert second.of("projection led", term=2) == []
    assert_read_models_hold(connection)


def test_a_projection_that_cannot_go_on_does_not_hold_up_the_others(
    database: TestDatabase, connection: psycopg.Connection[Any]
) -> None:
    enqueue(connection, 3)
    broken = (Absent(), Crashing(), *ALL)
    with runner_here(database, projections=broken) as events:
        until(lambda: is_caught_up(connection))
        events.wait_for("projection failed", projection="absent")
        events.wait_for("projection failed", projection="crashing")
        enqueue(connection, 3)
        until(lambda: is_caught_up(connection))
    assert_read_models_hold(connection)


def test_one_that_other_code_has_folded_is_given_back_to_whoever_has_that_code(
    database: TestDatabase, connection: psycopg.Connection[Any]
) -> None:
    """A worker of the old version must not lead what only the new one can fold."""
    connection.execute(
        "UPDATE counterfoil.projections SET schema = 7 WHERE name = 'jobs'"
    )
    enqueue(connection)
    with runner_here(database) as events:
        events.wait_for("projection outdated", projection="jobs")
        events.wait_for("projection left", projection="jobs")
        with runner_here(database, projections=(NewerJobs(),)) as newer:
            newer.wait_for("projection led", projection="jobs", term=2)
            until(lambda: is_caught_up(connection))


def test_a_runner_that_can_lead_nothing_goes_on_looking(
    database: TestDatabase, connection: psycopg.Connection[Any]
) -> None:
    with runner_here(database, projections=(NewerJobs(),)) as events:
        events.wait_for("projection left", projection="jobs")
        for _ in range(2):
            before = last_asked_at(connection)
            until(partial(has_asked, connection, before))
        assert events.of("projecting failed") == []
        assert events.of("projecting lost the database") == []


def last_asked_at(connection: psycopg.Connection[Any]) -> datetime:
    """Return when it has last asked the database anything."""
    ((at,),) = connection.execute(
        """
        SELECT max(query_start) FROM pg_stat_activity
         WHERE application_name = 'here' AND datname = current_database()
        """
    ).fetchall()
    assert isinstance(at, datetime)
    return at


def has_asked(connection: psycopg.Connection[Any], since: datetime) -> bool:
    """Return whether it has asked again."""
    return last_asked_at(connection) > since


@pytest.fixture
def shop(database: TestDatabase) -> Iterator[psycopg.Connection[Any]]:
    """A shop that has written an event, and thinks before it commits."""
    with closing(connect(database.conninfo)) as shop:
        shop.execute("BEGIN")
        enqueue(shop)
        yield shop


def test_whoever_holds_the_feed_back_is_waited_for_and_nothing_is_skipped(
    database: TestDatabase,
    connection: psycopg.Connection[Any],
    shop: psycopg.Connection[Any],
) -> None:
    enqueue(connection)
    with runner_here(database) as events:
        events.wait_for("projection led", n=len(ALL))
        assert not is_caught_up(connection)
        shop.execute("COMMIT")
        until(lambda: is_caught_up(connection))
    assert_read_models_hold(connection)


def test_a_lost_connection_is_made_anew(
    database: TestDatabase, connection: psycopg.Connection[Any]
) -> None:
    with runner_here(database) as events:
        events.wait_for("projection led", n=len(ALL))
        connection.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = 'here' AND datname = current_database()
            """
        )
        enqueue(connection)
        until(lambda: is_caught_up(connection))
        assert events.of("projection led", term=2) == []
