"""The figure of the total: counted by workers, a bound when it is old."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import psycopg
import pytest

from infrastructure.postgres.database import Database
from infrastructure.processor.pending import PendingCount
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import until, worker_here
from tests.limits.room import (
    ALL_FULL,
    TENANT_FULL,
    Connection,
    enqueue,
    enqueue_many,
    limit,
    pending,
    refused,
)
from tests.processor.rig import NOOP

pytestmark = pytest.mark.database

FIGURE = """
SELECT pending, is_whole FROM counterfoil.pending_counts ORDER BY until DESC LIMIT 1
"""


@pytest.fixture
def shop(database: TestDatabase) -> Connection:
    return database.connect()


@pytest.fixture
def count(database: TestDatabase) -> Iterator[PendingCount]:
    with Database(database.conninfo, pool_size=2) as pool:
        yield PendingCount(pool)


def figure(connection: Connection) -> tuple[int, bool]:
    (row,) = connection.execute(FIGURE).fetchall()
    return row[0], row[1]


@ON_BOTH_SERVERS
def test_one_worker_counts_for_all_about_once_a_second(
    database: TestDatabase, shop: Connection, count: PendingCount
) -> None:
    enqueue_many(shop, [{}] * 3)

    assert count.round()
    assert figure(shop) == (3, True)
    enqueue(shop)
    assert not count.round()  # somebody just has
    assert figure(shop) == (3, True)

    database.advance(timedelta(seconds=1))
    assert count.round()
    assert figure(shop) == (4, True)
    ((kept,),) = shop.execute("SELECT count(*) FROM counterfoil.pending_counts")
    assert kept == 1


def test_intake_goes_by_the_figure_and_looks_at_nothing_else(
    database: TestDatabase, shop: Connection, count: PendingCount
) -> None:
    limit(shop, in_all=5)
    enqueue_many(shop, [{}] * 5)
    count.round()
    assert refused(partial(enqueue, shop)) == ALL_FULL

    shop.execute("DELETE FROM counterfoil.jobs")

    assert refused(partial(enqueue, shop)) == ALL_FULL
    database.advance(timedelta(seconds=1))
    count.round()
    assert refused(partial(enqueue_many, shop, [{}] * 5)) is None


@pytest.mark.parametrize("full", [True, False])
def test_without_any_worker_the_figure_expires_and_intake_counts(
    database: TestDatabase, shop: Connection, count: PendingCount, *, full: bool
) -> None:
    limit(shop, in_all=50)
    jobs = 50 if full else 0
    enqueue_many(shop, [{}] * jobs)
    count.round()
    # What it said is wrong by now, in either direction.
    if full:
        shop.execute("DELETE FROM counterfoil.jobs")
    else:
        limit(shop)
        enqueue_many(shop, [{}] * 50)
        limit(shop, in_all=50)

    database.advance(timedelta(seconds=6))

    assert refused(partial(enqueue, shop)) == (None if full else ALL_FULL)


def test_counting_stops_where_it_is_full(shop: Connection, count: PendingCount) -> None:
    enqueue_many(shop, [{}] * 40)
    limit(shop, tenant=5, in_all=10)

    count.round()

    assert figure(shop) == (11, False)
    # Which bounds nothing for a limit that is raised later.
    limit(shop, tenant=41, in_all=0)
    assert refused(partial(enqueue_many, shop, [{}] * 2)) == TENANT_FULL
    assert refused(partial(enqueue, shop)) is None


def test_nobody_counts_without_limits(shop: Connection, count: PendingCount) -> None:
    limit(shop)

    assert not count.round()


def test_a_role_of_stricter_habits_counts_as_well(
    database: TestDatabase, shop: Connection
) -> None:
    strict = psycopg.conninfo.make_conninfo(
        database.conninfo,
        options="-c default_transaction_isolation=serializable",
    )
    enqueue(shop)

    with Database(strict, pool_size=1) as pool:
        assert PendingCount(pool).round()

    assert figure(shop) == (1, True)


def test_a_worker_counts_while_it_lives(
    database: TestDatabase, shop: Connection
) -> None:
    enqueue(shop, kind="unknown_here")

    with worker_here(database, NOOP):
        until(lambda: figure(shop) == (1, True))
    assert pending(shop) == 1


@pytest.mark.parametrize("full", [True, False])
def test_a_clock_that_is_set_back_leaves_no_figure_of_the_future(
    database: TestDatabase, shop: Connection, count: PendingCount, *, full: bool
) -> None:
    limit(shop, in_all=50)
    enqueue_many(shop, [{}] * (50 if full else 0))
    count.round()
    if full:
        shop.execute("DELETE FROM counterfoil.jobs")
    else:
        limit(shop)
        enqueue_many(shop, [{}] * 50)
        limit(shop, in_all=50)

    database.advance(timedelta(days=-1))

    right = None if full else ALL_FULL
    assert refused(partial(enqueue, shop)) == right  # without any worker
    assert count.round()
    assert figure(shop) == (1 if full else 50, True)
    assert refused(partial(enqueue, shop)) == right
    assert not count.round()
