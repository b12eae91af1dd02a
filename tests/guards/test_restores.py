"""Real servers: a database that went back in time buys nothing before it is released.

What a provider has sold is written into the buyer's own book, which nobody restores.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from application.operators.quarantine import GuardState
from infrastructure import embedded
from infrastructure.embedded import lifecycle
from infrastructure.embedded.place import lasting_place
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.guards.quarantine import PostgresRestoreGuard
from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import connect
from infrastructure.postgres.migrator import migrate
from tests.fixtures.database import TestDatabase, TestServer
from tests.guards.buyer import Buyer
from tests.guards.conftest import WORKER
from tests.guards.looked import looked_at
from tests.guards.servers import QUICK, dumped, owned_copy, put_back, tool, var

__all__ = ["var"]


@contextmanager
def buying(conninfo: str, host: Path, book: list[str]) -> Iterator[Buyer]:
    """Give a worker's buyer on `host`, whose provider has this book."""
    guarding = Guarding.of(host, WORKER)
    with looked_at(conninfo, guarding) as pool:
        yield Buyer(pool, guarding.journal, book)


def guard_of(buyer: Buyer) -> GuardState:
    """Return the guard; connections that a restart has ended are used up first."""
    while True:
        with suppress(DatabaseUnavailableError):
            return PostgresRestoreGuard(buyer.pool).state()


def assert_nothing_is_bought(buyer: Buyer) -> GuardState:
    """Try to buy all that is open, twice: before and after a worker's rounds."""
    before = list(buyer.book)
    state = guard_of(buyer)
    assert state.state == "quarantined"
    for _ in range(2):
        for delivery in buyer.open():
            assert buyer.buy(delivery) != "bought"
        units = BatchStore(buyer.pool)
        for _, once in Guarding.of(buyer.journal.path.parent, WORKER).rounds(
            buyer.pool, units
        ):
            once()
    assert buyer.book == before
    assert not buyer.twice()
    assert all(each.is_marked for each in guard_of(buyer).work)
    return state


@pytest.mark.parametrize("where", ["the same cluster", "another cluster"])
def test_a_restored_dump_is_met_on_the_first_connection(
    where: str,
    database: TestDatabase,
    database_server: TestServer,
    tmp_path: Path,
) -> None:
    book: list[str] = []
    with buying(database.conninfo, tmp_path, book) as buyer:
        first, second, third = buyer.owe(3)
        assert buyer.buy(first) == "bought"
        dump = dumped(database.conninfo, tmp_path)
        assert buyer.buy(second) == "bought"

    with restored(where, dump, database_server) as conninfo:
        # Another host, whose journal is empty: the place alone tells it.
        (tmp_path / "elsewhere").mkdir()
        with buying(conninfo, tmp_path / "elsewhere", book) as buyer:
            state = assert_nothing_is_bought(buyer)
            assert {second, third} <= set(buyer.open())

    expected = {"the same cluster": "database", "another cluster": "system_identifier"}
    assert expected[where] in state.signs


@contextmanager
def restored(where: str, dump: Path, server: TestServer) -> Iterator[str]:
    if where == "the same cluster":
        conninfo = server.create(name := server.fresh_name())
        tool("pg_restore", f"--dbname={conninfo}", str(dump))
        try:
            yield conninfo
        finally:
            server.drop(name)
        return
    with embedded.serve(Path("unused"), ephemeral=True) as other:
        tool("pg_restore", f"--dbname={other.uri}", str(dump))
        yield other.uri


def test_a_dump_restored_into_its_own_database_is_met_too(
    database: TestDatabase, tmp_path: Path
) -> None:
    with buying(database.conninfo, tmp_path, []) as buyer:
        (first,) = buyer.owe()
        dump = dumped(database.conninfo, tmp_path)
        assert buyer.buy(first) == "bought"
        tool("pg_restore", "--clean", f"--dbname={database.conninfo}", str(dump))

        # Over the connections that were there before, and whatever process looks.
        assert buyer.buy(first) == "quarantined"
        assert not buyer.twice()


def test_a_stale_copy_of_the_files_is_told_by_the_journal_alone(var: Path) -> None:
    """The same cluster, the same timeline, under a pool that was there before."""
    book: list[str] = []
    data = lasting_place(var).data
    with embedded.serve(var, options=QUICK) as server:
        migrate(server.uri)
        with buying(server.uri, var, book) as buyer:
            first, second = buyer.owe(2)
            assert buyer.buy(first) == "bought"
    owned_copy(data, var / "copy")
    with embedded.serve(var, options=QUICK, keep=True) as server:
        conninfo = server.uri
    with buying(conninfo, var, book) as buyer:
        assert buyer.buy(second) == "bought"
        lifecycle.stop(lasting_place(var))
        put_back(var / "copy", data)
        with embedded.serve(var, options=QUICK) as server:
            assert server.uri == conninfo
            state = assert_nothing_is_bought(buyer)
            assert guard_of(buyer).lost_purchases == 1

    assert state.signs == ("journal",)


def test_a_promoted_stale_copy_has_another_timeline(var: Path) -> None:
    book: list[str] = []
    data = lasting_place(var).data
    with embedded.serve(var, options=QUICK) as server:
        migrate(server.uri)
        with buying(server.uri, var, book) as buyer:
            first, second = buyer.owe(2)
            assert buyer.buy(first) == "bought"
    owned_copy(data, var / "copy")
    with (
        embedded.serve(var, options=QUICK) as server,
        buying(server.uri, var, book) as buyer,
    ):
        assert buyer.buy(second) == "bought"
    (var / "copy" / "standby.signal").touch()
    put_back(var / "copy", data)
    with embedded.serve(var, options=QUICK) as server:
        (var / "elsewhere").mkdir()
        # Connected while it is a standby: the promotion happens under the connection.
        with buying(server.uri, var / "elsewhere", book) as buyer:
            with connect(server.uri) as connection:
                connection.execute("SELECT pg_promote()")
            assert buyer.buy(second) == "quarantined"
            guarding = Guarding.of(var / "elsewhere", WORKER)
            guarding.look_through(buyer.pool)
            state = assert_nothing_is_bought(buyer)

    assert state.signs == ("timeline",)


def test_another_cluster_under_running_workers_is_met_on_their_next_connection(
    var: Path,
) -> None:
    """Its tables hold the same orders, as an older dump had them."""
    book: list[str] = []
    with embedded.serve(var, options=QUICK, keep=True) as server:
        conninfo = server.uri
        migrate(conninfo)
    with buying(conninfo, var, book) as buyer:
        first, second = buyer.owe(2)
        assert buyer.buy(first) == "bought"
        dump = dumped(conninfo, var)
        assert buyer.buy(second) == "bought"
        lifecycle.stop(lasting_place(var))
        shutil.rmtree(lasting_place(var).data)
        with embedded.serve(var, options=QUICK, keep=True) as server:
            assert server.uri == conninfo
            tool("pg_restore", f"--dbname={conninfo}", str(dump))

            state = assert_nothing_is_bought(buyer)

    assert {"system_identifier", "journal"} <= set(state.signs)
