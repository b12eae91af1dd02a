"""Jobs whose lease has ended come back; whoever else has them is left alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from psycopg import sql

from domain.jobs.outcome import Completed
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Connection
from infrastructure.processor import rescue
from infrastructure.processor.heartbeat import deregister, register
from infrastructure.processor.rescue import Rescuer
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue, facts, history
from tests.processor.rig import Rig

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

PAST_A_LEASE = timedelta(seconds=61)


@pytest.fixture(autouse=True)
def _old_server(database: TestDatabase) -> None:
    database.advance(timedelta(hours=1))


def test_s4_an_ended_lease_is_rescued_and_costs_no_attempt(
    database: TestDatabase, parts: Rig
) -> None:
    job = enqueue(parts.connection, "turn", serialKey="k")
    (first,) = parts.claim()
    assert parts.rescuer.round() == 0
    database.advance(PAST_A_LEASE)

    assert parts.rescuer.round() == 1
    assert parts.rescuer.round() == 0

    assert history(parts.connection, job)[-1] == "lease_expired"
    (again,) = parts.claim()
    assert (again.job.attempt, again.job.token) == (1, first.job.token + 2)


def test_i4_the_late_holder_is_refused(database: TestDatabase, parts: Rig) -> None:
    job = enqueue(parts.connection, "noop")
    (late,) = parts.claim()
    database.advance(PAST_A_LEASE)
    parts.rescuer.round()
    (present,) = parts.claim()

    parts.settle(late, Completed())
    assert parts.beat([late]) == []  # the answer was for another claim of ours
    assert history(parts.connection, job)[-1] == "claimed"

    parts.settle(present, Completed())
    assert history(parts.connection, job)[-1] == "succeeded"


def test_the_history_says_whether_the_process_or_only_the_lease_was_lost(
    database: TestDatabase, parts: Rig
) -> None:
    connection = parts.connection
    for is_gone in (False, True):
        job = enqueue(connection, "noop")
        register(connection, parts.owner, ["noop"])
        parts.claim()
        database.advance(PAST_A_LEASE)
        register(connection, parts.owner, [])
        if is_gone:
            deregister(connection, parts.owner)
        parts.rescuer.round()
        (lost,) = facts(connection, job, "job.lease_expired")
        assert lost["cause"] == ("process_gone" if is_gone else "lease_lost")
        for held in parts.claim():
            parts.settle(held, Completed())


def test_a_confirmed_lease_is_not_rescued(database: TestDatabase, parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    held = parts.claim()
    for _ in range(3):
        database.advance(timedelta(seconds=50))
        parts.beat(held)

    assert parts.rescuer.round() == 0


def test_a_row_that_is_being_settled_is_left_to_its_settler(
    database: TestDatabase, parts: Rig
) -> None:
    enqueue(parts.connection, "noop")
    parts.claim()
    database.advance(PAST_A_LEASE)
    settling = database.connect()
    with settling.transaction():
        settling.execute("SELECT 1 FROM counterfoil.jobs FOR UPDATE")
        assert parts.rescuer.round() == 0
    assert parts.rescuer.round() == 1


def test_hopeless_rows_hold_up_no_others(
    database: TestDatabase, parts: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I13: a page full of rows that cannot be written is passed over."""
    monkeypatch.setattr(rescue, "PAGE", 2)
    connection = parts.connection
    hopeless = [enqueue(connection, "noop") for _ in range(4)]
    good = enqueue(connection, "noop")
    parts.claim()
    database.advance(PAST_A_LEASE)
    refuse_events_of(database, [str(each) for each in hopeless])

    assert parts.rescuer.round() == 1

    assert history(connection, good)[-1] == "lease_expired"
    assert {history(connection, job)[-1] for job in hopeless} == {"claimed"}


def test_a_row_that_cannot_be_locked_holds_up_no_later_one(
    database: TestDatabase, parts: Rig
) -> None:
    """I13: a round that fails at one row goes on behind it the next time."""
    connection = parts.connection
    jobs = sorted(enqueue(connection, "noop") for _ in range(3))
    parts.claim()
    database.advance(PAST_A_LEASE)
    connection.execute(
        """
        CREATE FUNCTION counterfoil.test_busy() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'busy' USING ERRCODE = '55P03';
        END $$
        """
    )
    connection.execute(
        sql.SQL(
            """
            CREATE TRIGGER test_busy BEFORE INSERT ON counterfoil.events
                FOR EACH ROW WHEN (NEW.stream_id = {})
                EXECUTE FUNCTION counterfoil.test_busy()
            """
        ).format(sql.Literal(jobs[0]))
    )

    with pytest.raises(DatabaseUnavailableError):
        parts.rescuer.round()
    assert parts.rescuer.round() == 2

    assert [history(connection, job)[-1] for job in jobs] == [
        "claimed",
        "lease_expired",
        "lease_expired",
    ]


def refuse_events_of(database: TestDatabase, streams: list[str]) -> None:
    """Let PostgreSQL refuse whatever is appended to some streams."""
    connection = database.connect()
    connection.execute("CREATE TABLE counterfoil.test_refused (stream_id uuid)")
    connection.execute(
        "INSERT INTO counterfoil.test_refused SELECT unnest(%s::uuid[])", (streams,)
    )
    connection.execute(
        """
        CREATE FUNCTION counterfoil.test_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT FROM counterfoil.test_refused
                        WHERE stream_id = NEW.stream_id) THEN
                RAISE EXCEPTION 'refused' USING ERRCODE = '23514';
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER test_refuse BEFORE INSERT ON counterfoil.events
            FOR EACH ROW EXECUTE FUNCTION counterfoil.test_refuse()
        """
    )


def test_no_lease_is_rescued_right_after_the_servers_start(
    database: TestDatabase, parts: Rig
) -> None:
    """A server that was away gives every holder one lease to come back."""
    enqueue(parts.connection, "noop")
    parts.claim()
    parts.connection.execute(
        "UPDATE counterfoil.jobs SET lease_until = lease_until - interval '2 hours'"
    )
    (back,) = parts.connection.execute(
        "SELECT pg_postmaster_start_time() + interval '30 s' - counterfoil.now()"
    ).fetchall()[0]
    database.advance(back)  # as if it had been started half a minute ago

    assert parts.rescuer.round() == 0


class Cut:
    """Lends the connections of `parts`, but for the next `away_for` times."""

    def __init__(self, parts: Rig) -> None:
        self.away_for = 0
        self._parts = parts

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        if self.away_for > 0:
            self.away_for -= 1
            msg = "away"
            raise DatabaseUnavailableError(msg)
        with self._parts.pool.connection() as connection:
            yield connection


def test_a_stale_connection_is_no_outage(database: TestDatabase, parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    parts.claim()
    cut = Cut(parts)
    rescuer = Rescuer(cut, parts.store, parts.kinds, parts.actor)
    assert rescuer.round() == 0
    database.advance(PAST_A_LEASE)

    cut.away_for = 1

    assert rescuer.round() == 1


def test_i4_a_process_that_lost_the_database_lets_its_holders_confirm_first(
    database: TestDatabase, parts: Rig
) -> None:
    """Recovery may take longer than a lease: the server's start says nothing then."""
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    cut = Cut(parts)
    rescuer = Rescuer(cut, parts.store, parts.kinds, parts.actor)
    assert rescuer.round() == 0

    cut.away_for = 2
    with pytest.raises(DatabaseUnavailableError):
        rescuer.round()
    database.advance(PAST_A_LEASE)
    assert rescuer.round() == 0
    assert parts.beat([held]) == []  # alive, and back as soon as the database is

    database.advance(PAST_A_LEASE)  # now it was silent for a whole lease
    assert rescuer.round() == 1
