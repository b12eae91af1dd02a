"""S31: exactly as many as the limit says, whoever asks, however, beside whomever."""

import contextlib
import random
from functools import partial

import psycopg
import pytest

from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.limits.room import (
    TENANT_FULL,
    Connection,
    enqueue,
    enqueue_many,
    holds_no_room,
    limit,
    pending,
    refused,
    together,
)

pytestmark = pytest.mark.database

CLIENTS = 20


def open_one(connection: Connection) -> None:
    """Ask for one job and leave the transaction open."""
    connection.execute("BEGIN")
    enqueue(connection)


def let_in_one_by_one(connection: Connection, times: int) -> int:
    """Return how many of so many jobs, each asked for by itself, were let in."""
    answers = [refused(partial(enqueue, connection)) for _ in range(times)]
    assert set(answers) <= {None, TENANT_FULL}
    return answers.count(None)


@pytest.mark.parametrize(
    ("most", "times", "opened"),
    [
        (60, 5, 5),
        (200, 12, 15),
        pytest.param(1_000, 55, 5, marks=pytest.mark.slow),
        pytest.param(1_000, 55, 40, marks=pytest.mark.slow),
    ],
)
def test_s31_a_crowd_fills_the_house_to_the_last_place(
    database: TestDatabase, most: int, times: int, opened: int
) -> None:
    """However many stay in their transactions with a job that nobody else sees."""
    host = database.connect()
    limit(host, tenant=most)
    idle = [database.connect() for _ in range(opened)]
    for each in idle:
        open_one(each)
    clients = [database.connect() for _ in range(CLIENTS)]

    let_in = together([partial(let_in_one_by_one, each, times) for each in clients])

    assert sum(let_in) + opened == most
    assert pending(host) == most - opened
    for each in idle:
        each.execute("COMMIT")
    assert pending(host) == most
    assert refused(partial(enqueue, host)) == TENANT_FULL
    assert holds_no_room(host)


def test_jobs_that_nobody_can_count_fill_the_house_as_well(
    database: TestDatabase,
) -> None:
    """One job in each of many transactions that stay open: all in lanes, at first."""
    host = database.connect()
    limit(host, tenant=32)
    clients = [database.connect() for _ in range(36)]
    for each in clients:
        each.execute("BEGIN")

    codes = [refused(partial(enqueue, each)) for each in clients]

    assert codes == [None] * 32 + [TENANT_FULL] * 4
    for each in clients:
        each.execute("COMMIT")  # of a refused one it is a rollback
    assert pending(host) == 32


@pytest.mark.parametrize("hidden", [13, 60, 97])
def test_a_large_batch_that_nobody_can_count_leaves_only_the_rest(
    database: TestDatabase, hidden: int
) -> None:
    """What can be counted would let everybody in, without a look at the others."""
    host = database.connect()
    limit(host, tenant=100)
    idle = database.connect()
    idle.execute("BEGIN")
    enqueue_many(idle, [{}] * hidden)

    let_in = let_in_one_by_one(host, 100)

    assert let_in == 100 - hidden
    idle.execute("COMMIT")
    assert pending(host) == 100


def one(connection: Connection, _: random.Random) -> None:
    enqueue(connection)


def a_loop(connection: Connection, draw: random.Random) -> None:
    with connection.transaction():
        for _ in range(draw.randint(2, 25)):
            enqueue(connection)


def a_batch(connection: Connection, draw: random.Random) -> None:
    enqueue_many(connection, [{}] * draw.randint(2, 60))


def a_part_taken_back(connection: Connection, draw: random.Random) -> None:
    """Batches and single ones around savepoints that are rolled back."""
    with connection.transaction():
        for _ in range(draw.randint(1, 4)):
            with connection.transaction(force_rollback=draw.random() < 0.5):
                enqueue_many(connection, [{}] * draw.randint(1, 12))
                enqueue(connection)
        enqueue(connection)


def keys_of_others(connection: Connection, draw: random.Random) -> None:
    """Some of them are there already, or come and go."""
    keys: list[dict[str, object]] = [
        {"uniqueKey": f"k{draw.randint(0, 40)}"} for _ in range(20)
    ]
    with contextlib.suppress(psycopg.errors.SerializationFailure):
        enqueue_many(connection, [*keys, {}])


def a_change_of_mind(connection: Connection, draw: random.Random) -> None:
    with connection.transaction(force_rollback=True):
        enqueue_many(connection, [{}] * draw.randint(1, 80))


def repeatable_read(connection: Connection, draw: random.Random) -> None:
    strictly(connection, psycopg.IsolationLevel.REPEATABLE_READ, draw)


def serializable(connection: Connection, draw: random.Random) -> None:
    strictly(connection, psycopg.IsolationLevel.SERIALIZABLE, draw)


def strictly(
    connection: Connection, level: psycopg.IsolationLevel, draw: random.Random
) -> None:
    connection.isolation_level = level
    try:
        with connection.transaction():
            enqueue(connection)
            enqueue_many(connection, [{}] * draw.randint(1, 10))
    except psycopg.errors.SerializationFailure:
        return
    finally:
        connection.isolation_level = None


WAYS = (
    one,
    a_loop,
    a_batch,
    a_part_taken_back,
    keys_of_others,
    a_change_of_mind,
    repeatable_read,
    serializable,
)


def crowd_in(
    connection: Connection, watcher: Connection, most: int, seed: int, turns: int
) -> int:
    """Ask in every way, end some jobs, and return the most that were ever seen."""
    draw = random.Random(seed)  # noqa: S311 - a test repeats its seed
    seen = 0
    for _ in range(turns):
        way = draw.choice(WAYS)
        code = refused(partial(way, connection, draw))
        assert code in {None, TENANT_FULL}
        now = pending(watcher)
        seen = max(seen, now)
        if code is not None and draw.random() < 0.2:
            # A worker's success, as far as a limit can tell.
            watcher.execute(
                "DELETE FROM counterfoil.jobs WHERE stream_id IN ("
                "SELECT stream_id FROM counterfoil.jobs"
                " ORDER BY random() LIMIT %s FOR UPDATE SKIP LOCKED)",
                [draw.randint(1, most // 2)],
            )
    return seen


@ON_BOTH_SERVERS
@pytest.mark.parametrize(
    ("most", "seed", "turns"),
    [
        (5, 1, 6),
        (40, 2, 6),
        (320, 3, 6),
        pytest.param(5, 11, 150, marks=pytest.mark.slow),
        pytest.param(40, 12, 150, marks=pytest.mark.slow),
        pytest.param(320, 13, 300, marks=pytest.mark.slow),
        pytest.param(2_000, 14, 300, marks=pytest.mark.slow),
    ],
)
def test_never_more_than_the_limit_is_let_in(
    database: TestDatabase, most: int, seed: int, turns: int
) -> None:
    """One by one, in loops and batches, with savepoints and at every isolation."""
    host = database.connect()
    limit(host, tenant=most)
    asks = [
        partial(
            crowd_in,
            database.connect(),
            database.connect(),
            most,
            seed * 1_000 + client,
            turns,
        )
        for client in range(8)
    ]

    seen = together(asks)

    assert max(seen) <= most
    assert pending(host) <= most
    assert holds_no_room(host)
