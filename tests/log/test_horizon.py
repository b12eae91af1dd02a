"""Mechanisms 2: the horizon, its lock space, its wrap, and the check at start."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from infrastructure.errors import ConfigurationError
from infrastructure.log.horizon import Horizon, require_positions_ahead
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import until
from tests.log.plain import append, horizon, tickets

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

WRAP = 2**32
DEADLINE_SECONDS = 20


def start_at(connection: psycopg.Connection[Any], position: int) -> None:
    connection.execute(
        "SELECT setval('counterfoil.position_seq', %(position)s)",
        {"position": position},
    )


def test_an_empty_log_is_final_up_to_nothing(database: TestDatabase) -> None:
    connection = database.connect()

    assert horizon(connection) == 0
    assert append(connection) == [1]
    assert horizon(connection) == 1


def test_the_oldest_open_transaction_bounds_the_horizon(database: TestDatabase) -> None:
    older, newer, watcher = (database.connect() for _ in range(3))

    with older.transaction():
        (first,) = append(older)
        with newer.transaction():
            append(newer)
        (last,) = append(watcher)
        assert horizon(watcher) == first - 1

    assert horizon(watcher) == last


@pytest.mark.parametrize("before", [1, 2, 3])
def test_the_horizon_holds_across_the_32_bit_boundary(
    before: int, database: TestDatabase
) -> None:
    """A ticket has 32 bits; it is widened against the sequence's last value."""
    older, newer, watcher = (database.connect() for _ in range(3))
    start_at(watcher, WRAP - before)

    with older.transaction():
        (first,) = append(older)
        assert tickets(watcher) == [(WRAP - before) % WRAP]
        for _ in range(4):
            append(watcher)
        with newer.transaction():
            append(newer)
            assert horizon(watcher) == first - 1
        (last,) = append(watcher)
        assert last > WRAP
        assert horizon(watcher) == first - 1

    assert horizon(watcher) == last


def test_a_ticket_taken_beyond_the_boundary_is_widened_upwards(
    database: TestDatabase,
) -> None:
    writer, watcher = database.connect(), database.connect()
    start_at(watcher, WRAP + 5)

    with writer.transaction():
        (first,) = append(writer)
        append(watcher)

        assert tickets(watcher) == [5]
        assert horizon(watcher) == first - 1 == WRAP + 5


def test_other_peoples_advisory_locks_hold_nobody_back(database: TestDatabase) -> None:
    """Another space, the other key form, exclusive locks: none is a ticket."""
    other, watcher = database.connect(), database.connect()
    (space,) = watcher.execute(
        "SELECT lock_space FROM counterfoil.installation"
    ).fetchall()[0]
    append(watcher)
    (position,) = append(watcher)

    with other.transaction():
        other.execute(
            """
            SELECT pg_advisory_xact_lock_shared(%(other)s, 0),
                   pg_advisory_xact_lock_shared(%(wide)s::bigint),
                   pg_advisory_xact_lock(%(space)s, 7)
            """,
            {"other": ~space, "wide": space << 32, "space": space},
        )

        assert horizon(watcher) == position


def test_a_ticket_in_another_database_holds_nobody_back(
    database: TestDatabase, empty_database: str
) -> None:
    watcher = database.connect()
    (space,) = watcher.execute(
        "SELECT lock_space FROM counterfoil.installation"
    ).fetchall()[0]
    (position,) = append(watcher)

    with psycopg.connect(empty_database) as elsewhere:
        elsewhere.execute(
            "SELECT pg_advisory_xact_lock_shared(%(space)s, 0)", {"space": space}
        )
        assert horizon(watcher) == position


def test_a_horizon_may_lie_below_one_that_was_seen_before(
    database: TestDatabase,
) -> None:
    """A ticket is taken at a number that others pass before it is visible."""
    late, watcher = database.connect(), database.connect()
    (space,) = watcher.execute(
        "SELECT lock_space FROM counterfoil.installation"
    ).fetchall()[0]
    shared = Horizon(lambda: lent(watcher))
    (position,) = append(watcher)
    append(watcher)
    seen = shared.current()

    with late.transaction():
        late.execute(
            "SELECT pg_advisory_xact_lock_shared(%(space)s, %(ticket)s)",
            {"space": space, "ticket": position},
        )

        assert shared.current() == position < seen


def test_a_start_is_refused_when_the_sequence_is_behind(database: TestDatabase) -> None:
    connection = database.connect()
    require_positions_ahead(connection)
    append(connection)
    append(connection)
    require_positions_ahead(connection)

    start_at(connection, 1)

    with pytest.raises(
        ConfigurationError, match="reaches position 2, its sequence only 1"
    ):
        require_positions_ahead(connection)


@contextmanager
def lent(connection: psycopg.Connection[Any]) -> Generator[psycopg.Connection[Any]]:
    yield connection


class SlowLender:
    """Lends one connection, and counts; the first loan waits for `go`."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.loans = 0
        self.lent = threading.Event()
        self.go = threading.Event()

    @contextmanager
    def __call__(self) -> Generator[psycopg.Connection[Any]]:
        self.loans += 1
        self.lent.set()
        assert self.go.wait(DEADLINE_SECONDS)
        yield self.connection


def has_asked(thread: threading.Thread) -> bool:
    """Whether it has noted when it asked, and can but wait for its turn."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - as debuggers do
    return (
        frame is not None
        and frame.f_code is Horizon.current.__code__
        and "asked_at" in frame.f_locals
    )


def test_followers_that_ask_together_share_one_look(database: TestDatabase) -> None:
    lender = SlowLender(database.connect())
    shared = Horizon(lender)
    answers: list[int] = []

    def ask() -> None:
        answers.append(shared.current())

    first = threading.Thread(target=ask)
    first.start()
    assert lender.lent.wait(DEADLINE_SECONDS)
    others = [threading.Thread(target=ask) for _ in range(8)]
    for thread in others:
        thread.start()
    until(lambda: all(map(has_asked, others)))
    lender.go.set()
    for thread in (first, *others):
        thread.join(DEADLINE_SECONDS)

    assert answers == [0] * 9
    # The first one's, and one for all that asked while it lasted.
    assert lender.loans == 2


def test_a_look_is_never_older_than_the_question(database: TestDatabase) -> None:
    connection = database.connect()
    shared = Horizon(lambda: lent(connection))

    seen = [
        (position, shared.current())
        for _ in range(50)
        for position in append(connection)
    ]

    assert all(position == answer for position, answer in seen)
