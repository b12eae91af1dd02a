"""The proxy loses exactly what it says."""

import threading
from collections.abc import Callable

import psycopg
import pytest

from infrastructure.errors import CommitUnknownError, DatabaseUnavailableError
from infrastructure.postgres.database import connect, transaction
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy

pytestmark = pytest.mark.database

type Write = Callable[[str], None]


@pytest.fixture
def book(database: TestDatabase) -> psycopg.Connection[tuple[object, ...]]:
    connection = database.connect()
    connection.execute("CREATE TABLE book (line text)")
    return connection


@pytest.fixture(params=["simple", "prepared", "pipeline", "library"])
def write(request: pytest.FixtureRequest, proxy: Proxy) -> Write:
    def simple(line: str) -> None:
        with connect(proxy.conninfo) as connection, transaction(connection):
            connection.execute("INSERT INTO book VALUES (%s)", (line,))

    def prepared(line: str) -> None:
        with connect(proxy.conninfo) as connection:
            connection.execute("BEGIN")
            connection.execute("INSERT INTO book VALUES (%s)", (line,), prepare=True)
            connection.execute("COMMIT", prepare=True)

    def pipeline(line: str) -> None:
        with (
            connect(proxy.conninfo) as connection,
            connection.pipeline(),
            connection.transaction(),
        ):
            connection.execute("INSERT INTO book VALUES (%s)", (line,))

    def library(line: str) -> None:
        with psycopg.connect(proxy.conninfo) as connection:
            connection.execute("INSERT INTO book VALUES (%s)", (line,))

    return {f.__name__: f for f in (simple, prepared, pipeline, library)}[request.param]


def lines(book: psycopg.Connection[tuple[object, ...]]) -> list[object]:
    return [line for (line,) in book.execute("SELECT line FROM book ORDER BY line")]


def test_what_is_not_cut_passes(
    book: psycopg.Connection[tuple[object, ...]], write: Write
) -> None:
    write("a" * 200_000)

    assert lines(book) == ["a" * 200_000]


def test_a_commit_whose_answer_is_cut_has_happened(
    book: psycopg.Connection[tuple[object, ...]], proxy: Proxy, write: Write
) -> None:
    cut = proxy.cut_commit_answer()

    with pytest.raises((psycopg.OperationalError, DatabaseUnavailableError)):
        write("a")

    cut.wait()
    assert lines(book) == ["a"]


def test_a_commit_that_is_cut_on_its_way_has_not_happened(
    book: psycopg.Connection[tuple[object, ...]], proxy: Proxy, write: Write
) -> None:
    cut = proxy.cut_before_commit()

    with pytest.raises((psycopg.OperationalError, DatabaseUnavailableError)):
        write("a")

    cut.wait()
    assert lines(book) == []


def test_only_the_transaction_that_was_meant_is_cut(
    book: psycopg.Connection[tuple[object, ...]], proxy: Proxy, write: Write
) -> None:
    proxy.cut_commit_answer(of="second")

    write("first")
    with pytest.raises((psycopg.OperationalError, DatabaseUnavailableError)):
        write("second")
    write("second again")

    assert lines(book) == ["first", "second", "second again"]


def test_a_commit_can_be_held_on_either_side(
    book: psycopg.Connection[tuple[object, ...]], proxy: Proxy
) -> None:
    def write(line: str) -> None:
        with (
            pytest.raises(CommitUnknownError),
            connect(proxy.conninfo) as connection,
            transaction(connection),
        ):
            connection.execute("INSERT INTO book VALUES (%s)", (line,))

    before = proxy.hold_before_commit(of="before")
    after = proxy.hold_commit_answer(of="after")
    writers = [
        threading.Thread(target=write, args=(line,)) for line in ("before", "after")
    ]
    for writer in writers:
        writer.start()
    before.wait()
    after.wait()

    assert lines(book) == ["after"]
    proxy.close_all()
    for writer in writers:
        writer.join()


def test_a_stalled_connection_goes_on_afterwards(proxy: Proxy) -> None:
    answers: list[object] = []

    def ask() -> None:
        answers.append(connection.execute("SELECT 1").fetchone())

    with connect(proxy.conninfo) as connection:
        asker = threading.Thread(target=ask)
        with proxy.stalled():
            asker.start()
            asker.join(0.2)
            assert answers == []
        asker.join()

    assert answers == [(1,)]


def test_closing_all_ends_connections_and_serves_new_ones(proxy: Proxy) -> None:
    with connect(proxy.conninfo) as lost, connect(proxy.conninfo) as stalled:
        proxy.stall()
        proxy.close_all()
        proxy.resume()
        for connection in (lost, stalled):
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")

    with connect(proxy.conninfo) as new:
        assert new.execute("SELECT 1").fetchone() == (1,)
