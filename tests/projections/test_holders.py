"""Whoever holds the feed back is named, as far as the role that asks may see."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from infrastructure.log.horizon import fetch_horizon
from infrastructure.postgres.database import Database, connect
from projections.queries.holders import FeedHolders, FeedPage
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

ENQUEUE = """SELECT counterfoil.enqueue('{"kind": "test", "notify": false}')"""


@pytest.fixture
def shop(database: TestDatabase) -> Iterator[psycopg.Connection[Any]]:
    """A shop that has written an event, and thinks before it commits."""
    with closing(connect(database.conninfo, application_name="the shop")) as shop:
        shop.execute("BEGIN")
        shop.execute(ENQUEUE)
        yield shop
        shop.execute("ROLLBACK")


def asked(database: TestDatabase, user: str = "postgres") -> FeedPage:
    where = make_conninfo(database.conninfo, user=user)
    with Database(where, pool_size=1) as pool:
        return FeedHolders(pool.connection)()


def test_nobody_holds_back_what_is_committed(database: TestDatabase) -> None:
    database.connect().execute(ENQUEUE)

    page = asked(database)

    assert page.holders == ()
    assert page.horizon == page.last == 1


def test_a_shop_that_thinks_is_named_with_what_it_holds_back(
    database: TestDatabase, shop: psycopg.Connection[Any]
) -> None:
    database.connect().execute(ENQUEUE)
    page = asked(database)

    (holder,) = page.holders
    assert (holder.pid, holder.gid) == (shop.info.backend_pid, None)
    assert (holder.state, holder.application) == ("idle in transaction", "the shop")
    assert holder.user == "postgres"
    assert holder.age_seconds is not None
    assert holder.age_seconds >= 0
    assert holder.ticket == page.horizon == 0
    assert page.last == 2
    assert holder.waits_for_lock is not True
    assert not holder.is_hidden


def test_the_oldest_ticket_comes_first(
    database: TestDatabase, shop: psycopg.Connection[Any]
) -> None:
    with closing(connect(database.conninfo)) as later:
        later.execute("BEGIN")
        later.execute(ENQUEUE)

        page = asked(database)

        assert [each.pid for each in page.holders] == [
            shop.info.backend_pid,
            later.info.backend_pid,
        ]
        assert page.holders[0].ticket < page.holders[1].ticket
        later.execute("ROLLBACK")


def test_a_prepared_transaction_is_named_by_its_gid(database: TestDatabase) -> None:
    connection = database.connect()
    connection.execute("BEGIN")
    connection.execute("SAVEPOINT one")  # a part of it has a number of its own
    connection.execute(ENQUEUE)
    connection.execute("PREPARE TRANSACTION 'till 7'")
    connection.execute(ENQUEUE)
    try:
        page = asked(database)

        (holder,) = page.holders
        assert (holder.pid, holder.gid) == (None, "till 7")
        assert (holder.state, holder.user) == ("prepared", "postgres")
        assert holder.since is not None
        assert holder.ticket == page.horizon == fetch_horizon(connection)
        assert not holder.is_hidden
    finally:
        connection.execute("ROLLBACK PREPARED 'till 7'")


def test_a_role_is_told_what_it_may_not_see(
    database: TestDatabase, shop: psycopg.Connection[Any]
) -> None:
    connection = database.connect()
    connection.execute("CREATE ROLE looker LOGIN")
    connection.execute("GRANT USAGE ON SCHEMA counterfoil TO looker")
    connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA counterfoil TO looker")
    connection.execute("GRANT SELECT ON ALL SEQUENCES IN SCHEMA counterfoil TO looker")
    try:
        page = asked(database, user="looker")

        (holder,) = page.holders
        assert page.asked_as == "looker"
        assert holder.is_hidden
        assert (holder.pid, holder.application) == (shop.info.backend_pid, "the shop")
        assert (holder.state, holder.since, holder.age_seconds) == (None, None, None)
    finally:
        connection.execute("DROP OWNED BY looker")
        connection.execute("DROP ROLE looker")
