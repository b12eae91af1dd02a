"""What a claim costs does not grow with what it does not take; counted in pages.

Pages, because they do not depend on the clock.  A larger table has deeper indexes, so
a job that is taken may cost a few pages more: the trees of five indexes are entered.
"""

from typing import Any, Final

import psycopg
import pytest

from infrastructure.processor import low_water
from infrastructure.processor.turns import statements
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.processor.test_plans import A_LOOK, a_claim, pages

pytestmark = ON_BOTH_SERVERS

MANY: Final = 50_000
TAKEN: Final = 100

FILL: Final = """
INSERT INTO counterfoil.jobs (
       stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
       parkings, serial_key, serial_order, cancel_requested, correlation_id, args,
       in_line)
SELECT counterfoil.uuid7(), 'default', 1, 'waiting', 'noop', 'default', 1 + n %% 4,
       counterfoil.now() + make_interval(secs => %(first)s + n * 0.001), 0, 0,
       'key ' || n %% %(keys)s, 0, false, 'c', '{}', false
  FROM generate_series(1, %(jobs)s) n
"""
AN_HOUR_AGO: Final = -3_600
SOON: Final = 3_600
A_MINUTE_AGO: Final = -60


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def fill(
    connection: psycopg.Connection[Any], jobs: int, first: int, keys: int | None = None
) -> None:
    """Let `jobs` wait from `first` seconds after now on, each of one of `keys`."""
    asked = {"jobs": jobs, "first": first, "keys": keys}
    connection.execute(FILL, asked)


def analyze(connection: psycopg.Connection[Any]) -> None:
    connection.execute("VACUUM ANALYZE counterfoil.jobs")


def of_a_look(connection: psycopg.Connection[Any]) -> int:
    return pages(connection, low_water._LOOK, A_LOOK)  # noqa: SLF001 - the statement is the promise


def of_a_claim(connection: psycopg.Connection[Any]) -> int:
    return pages(connection, statements.CLAIM, a_claim(TAKEN))


@pytest.mark.parametrize("statistics", ["fresh", "stale"])
def test_an_idle_claim_reads_nothing_of_the_far_future(
    statistics: str, connection: psycopg.Connection[Any]
) -> None:
    analyze(connection)
    alone = of_a_claim(connection) + of_a_look(connection)

    fill(connection, MANY, SOON)
    if statistics == "fresh":
        analyze(connection)

    assert of_a_claim(connection) + of_a_look(connection) <= alone + 50


@pytest.mark.parametrize("statistics", ["fresh", "stale"])
@pytest.mark.parametrize("others", [SOON, A_MINUTE_AGO], ids=["far", "due"])
def test_a_claim_costs_what_it_takes_beside_many_that_it_does_not(
    others: int, statistics: str, connection: psycopg.Connection[Any]
) -> None:
    fill(connection, TAKEN, AN_HOUR_AGO)
    analyze(connection)
    alone = of_a_claim(connection)

    fill(connection, MANY, others)
    if statistics == "fresh":
        analyze(connection)

    assert of_a_claim(connection) <= 1.2 * alone + 10 * TAKEN


def test_many_due_jobs_of_one_key_are_read_once_without_a_look_for_each(
    connection: psycopg.Connection[Any],
) -> None:
    fill(connection, MANY // 10, AN_HOUR_AGO, keys=1)
    analyze(connection)

    assert of_a_claim(connection) < MANY // 10 / 5


def test_jobs_of_many_keys_cost_a_look_each_however_many_wait_behind_them(
    connection: psycopg.Connection[Any],
) -> None:
    fill(connection, 4 * TAKEN, AN_HOUR_AGO, keys=4 * TAKEN)
    analyze(connection)
    alone = of_a_claim(connection)

    fill(connection, MANY, A_MINUTE_AGO, keys=4 * TAKEN)
    analyze(connection)

    assert of_a_claim(connection) <= 1.2 * alone + 10 * TAKEN
