"""One holder of each role, by the database's clock, whoever stands, however often."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from domain.jobs.events import Owner
from infrastructure.leadership import TTL_SECONDS, Leadership, holder_of
from infrastructure.postgres.database import transaction
from tests.fixtures.database import TestDatabase

ROLES = ("projection:attempts", "projection:jobs")
LIFE = timedelta(seconds=TTL_SECONDS)


class Clock:
    """The boot clock of one process."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def process(clock: Clock | None = None) -> Leadership:
    owner = Owner(host="machine", pid=41, boot=uuid4())
    return Leadership(owner, elapsed=clock or Clock())


def terms(database: TestDatabase) -> dict[str, int]:
    rows = database.connect().execute("SELECT role, term FROM counterfoil.leadership")
    return dict(rows.fetchall())


def test_who_stands_first_holds_what_is_free(database: TestDatabase) -> None:
    first, second = process(), process()

    assert first.stand(database.connect(), ROLES) == dict.fromkeys(ROLES, 1)
    assert second.stand(database.connect(), (*ROLES, "build:jobs")) == {"build:jobs": 1}
    assert first.held == dict.fromkeys(ROLES, 1)


def test_a_renewal_keeps_the_term_and_the_role(database: TestDatabase) -> None:
    first, second = process(), process()
    first.stand(database.connect(), ROLES)

    for _ in range(4):
        database.advance(LIFE / 2)
        assert first.stand(database.connect(), ROLES) == dict.fromkeys(ROLES, 1)
        assert second.stand(database.connect(), ROLES) == {}


def test_whoever_is_not_heard_of_any_more_is_followed_in_the_next_term(
    database: TestDatabase,
) -> None:
    first, second = process(), process()
    first.stand(database.connect(), ROLES)
    database.advance(LIFE)

    assert second.stand(database.connect(), ROLES) == dict.fromkeys(ROLES, 2)
    assert first.stand(database.connect(), ROLES) == {}
    assert first.held == {}
    assert terms(database) == dict.fromkeys(ROLES, 2)


def test_a_role_that_ran_out_and_that_nobody_took_gets_a_new_term(
    database: TestDatabase,
) -> None:
    only = process()
    only.stand(database.connect(), ROLES)
    database.advance(LIFE)

    assert only.stand(database.connect(), ROLES) == dict.fromkeys(ROLES, 2)


def test_what_is_given_back_is_free_at_once_and_terms_still_rise(
    database: TestDatabase,
) -> None:
    first, second = process(), process()
    first.stand(database.connect(), ROLES)

    assert sorted(first.release(database.connect())) == sorted(ROLES)
    assert first.held == {}
    assert holder_of(database.connect(), ROLES[0]) is None
    assert second.stand(database.connect(), ROLES) == dict.fromkeys(ROLES, 2)


def test_one_role_alone_is_given_back(database: TestDatabase) -> None:
    first = process()
    first.stand(database.connect(), ROLES)

    assert list(first.release(database.connect(), ROLES[:1])) == [ROLES[0]]
    assert list(first.held) == [ROLES[1]]
    assert first.stand(database.connect(), ROLES[1:]) == {ROLES[1]: 1}
    assert terms(database) == dict.fromkeys(ROLES, 1)


def test_a_late_release_takes_nothing_from_the_next_holder(
    database: TestDatabase,
) -> None:
    first, second = process(), process()
    first.stand(database.connect(), ROLES)
    database.advance(LIFE)
    second.stand(database.connect(), ROLES)

    assert list(first.release(database.connect())) == []
    assert second.stand(database.connect(), ROLES) == dict.fromkeys(ROLES, 2)


def test_a_process_that_slept_believes_in_nothing(database: TestDatabase) -> None:
    clock = Clock()
    sleeper = process(clock)
    sleeper.stand(database.connect(), ROLES)

    clock.now += TTL_SECONDS

    assert sleeper.held == {}
    assert sleeper.seconds_since == TTL_SECONDS


def test_a_person_is_told_who_holds_a_role(database: TestDatabase) -> None:
    process().stand(database.connect(), ROLES)

    assert holder_of(database.connect(), ROLES[0]) == ("machine", 41, 1)
    assert holder_of(database.connect(), "build:jobs") is None


@pytest.fixture
def taken(database: TestDatabase) -> Iterator[psycopg.Connection[object]]:
    """A role that ran out, and that somebody is taking in an open transaction."""
    process().stand(database.connect(), ROLES)
    database.advance(LIFE)
    with database.connect() as connection, transaction(connection):
        connection.execute(
            """
            UPDATE counterfoil.leadership
               SET holder = gen_random_uuid(), term = term + 1,
                   expires_at = counterfoil.now() + interval '10 seconds'
            """
        )
        yield connection


def test_of_two_who_take_at_once_the_later_one_sees_that_it_was_too_late(
    database: TestDatabase, taken: psycopg.Connection[object]
) -> None:
    late, watching = database.connect(), database.connect()
    told: list[object] = []
    standing = threading.Thread(
        target=lambda: told.append(process().stand(late, ROLES)), daemon=True
    )
    standing.start()
    while not watching.execute(
        "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'",
        (late.info.backend_pid,),
    ).fetchall():
        pass
    taken.execute("COMMIT")
    standing.join()

    assert told == [{}]
    assert terms(database) == dict.fromkeys(ROLES, 2)


def test_who_waits_for_a_role_writes_nothing(database: TestDatabase) -> None:
    process().stand(database.connect(), ROLES)
    seen = "SELECT role, xmin, xmax, ctid FROM counterfoil.leadership ORDER BY role"
    before = database.connect().execute(seen).fetchall()

    process().stand(database.connect(), ROLES)

    assert database.connect().execute(seen).fetchall() == before
