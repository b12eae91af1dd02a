"""The last position is one that was handed out (ADR 0029): hammered, and refused.

Every 32nd nextval writes a number into its sequence that comes 32 later, and takes it
back; the loops run inside the server, or they would never look in that moment.
"""

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.plain import append, horizon, last_position

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

LOOPS = """
CREATE PROCEDURE counterfoil.test_draw() LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1..2000 LOOP
        PERFORM nextval('counterfoil.position_seq');
        FOR pause IN 1..10 LOOP END LOOP;
    END LOOP;
END
$$;
CREATE PROCEDURE counterfoil.test_append() LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1..200 LOOP
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        VALUES ('default', gen_random_uuid(), 1, 'test.happened', 1, '{}', '{}');
        COMMIT;
    END LOOP;
END
$$;
CREATE PROCEDURE counterfoil.test_tickets(OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE
    drawn  bigint;
    ticket bigint;
BEGIN
    wrong := 0;
    FOR n IN 1..12000 LOOP
        INSERT INTO counterfoil.events SELECT * FROM counterfoil.events WHERE false;
        drawn := nextval('counterfoil.position_seq');
        SELECT max(objid::bigint) INTO ticket FROM pg_locks
         WHERE locktype = 'advisory' AND objsubid = 2 AND pid = pg_backend_pid();
        wrong := wrong + (ticket >= drawn)::int;
        COMMIT;
    END LOOP;
END
$$;
CREATE FUNCTION counterfoil.test_horizons() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    wrong  int := 0;
    bound  bigint;
BEGIN
    FOR n IN 1..15000 LOOP
        bound := counterfoil.horizon();
        wrong := wrong + (nextval('counterfoil.position_seq') <= bound)::int;
    END LOOP;
    RETURN wrong;
END
$$;
CREATE FUNCTION counterfoil.test_last_positions() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    wrong  int := 0;
    before bigint := 0;
    last   bigint;
BEGIN
    FOR n IN 1..200000 LOOP
        last := counterfoil.last_position();
        wrong := wrong + (last < before)::int;
        before := last;
    END LOOP;
    RETURN wrong;
END
$$;
CREATE FUNCTION counterfoil.test_lowest(looks int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    lowest bigint := counterfoil.horizon();
BEGIN
    FOR n IN 1..looks LOOP
        lowest := least(lowest, counterfoil.horizon());
    END LOOP;
    RETURN lowest;
END
$$;
"""

TICKETS = "CALL counterfoil.test_tickets(NULL)"
HORIZONS = "SELECT counterfoil.test_horizons()"
LAST_POSITIONS = "SELECT counterfoil.test_last_positions()"
DRAW = "CALL counterfoil.test_draw()"
APPEND = "CALL counterfoil.test_append()"


@contextmanager
def beside(
    database: TestDatabase, statement: LiteralString, sessions: int
) -> Generator[psycopg.Connection[Any]]:
    """Lend a session beside others that repeat a statement all the time."""
    connection = database.connect()
    connection.execute(LOOPS)
    stop = threading.Event()

    def repeat(session: psycopg.Connection[Any]) -> None:
        while not stop.is_set():
            session.execute(statement)

    with ThreadPoolExecutor(sessions) as pool:
        repeating = [pool.submit(repeat, database.connect()) for _ in range(sessions)]
        try:
            yield connection
        finally:
            stop.set()
    for each in repeating:
        each.result()


@pytest.mark.parametrize("hammer", [TICKETS, HORIZONS, LAST_POSITIONS])
def test_no_number_counts_as_handed_out_before_it_is(
    hammer: LiteralString, database: TestDatabase
) -> None:
    """Tickets lie below what is drawn under them; what a horizon passed is not drawn.

    With the plain read 1 to 6 of 12,000 tickets lay too high, and a horizon at times.
    """
    with beside(database, DRAW, 1) as connection:
        wrong = connection.execute(hammer).fetchone()

    assert wrong == (0,)


def test_a_ticket_that_is_taken_during_a_look_does_not_throw_the_horizon_back(
    database: TestDatabase,
) -> None:
    """It is above the bound of that look: once it was taken for one 2^32 lower."""
    with beside(database, APPEND, 3) as connection:
        (row,) = connection.execute("SELECT counterfoil.test_lowest(4000)").fetchall()

    assert row[0] >= 0


@contextmanager
def role(connection: psycopg.Connection[Any], rights: LiteralString) -> Generator[None]:
    """Be a role that may append, with `rights` on the sequence alone."""
    name = sql.Identifier(f"{connection.info.dbname}_shop")
    connection.execute(sql.SQL("CREATE ROLE {}").format(name))
    try:
        connection.execute(
            sql.SQL(
                "GRANT USAGE ON SCHEMA counterfoil TO {0};"
                "GRANT SELECT ON counterfoil.installation TO {0};"
                "GRANT SELECT ON counterfoil.test_clock TO {0};"
                "GRANT SELECT, INSERT ON counterfoil.events TO {0};"
                "GRANT {1} ON SEQUENCE counterfoil.position_seq TO {0};"
                "SET ROLE {0}"
            ).format(name, sql.SQL(rights))
        )
        yield
    finally:
        connection.execute("RESET ROLE")
        connection.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(name))


def test_the_right_to_draw_positions_is_the_right_to_ask_for_the_last(
    database: TestDatabase,
) -> None:
    connection = database.connect()

    with role(connection, "USAGE"):
        (position,) = append(connection)

        assert last_position(connection) == horizon(connection) == position


def test_who_may_draw_but_not_ask_appends_nothing(database: TestDatabase) -> None:
    """PostgreSQL 18 answers NULL, and a ticket named NULL would be none."""
    connection = database.connect()

    with (
        role(connection, "UPDATE"),
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="position_seq"),
    ):
        append(connection)

    assert last_position(connection) == 0


def test_a_sequence_that_was_set_back_to_its_beginning_is_refused(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    connection.execute("ALTER SEQUENCE counterfoil.position_seq RESTART")

    with pytest.raises(
        psycopg.errors.ObjectNotInPrerequisiteState,
        match="has not handed out any position",
    ):
        append(connection)
