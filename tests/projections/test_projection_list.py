"""Where projections stand: how far behind, led by whom, and what is the matter."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from domain.jobs.events import Owner
from infrastructure.leadership import TTL_SECONDS, Leadership
from infrastructure.postgres.database import Database
from projections.queries.projections import (
    Leader,
    ProjectionLine,
    ProjectionList,
)
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.fixtures.workers import enqueue
from tests.projecting.poison import add

pytestmark = pytest.mark.database


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=2) as pool:
        yield pool


@pytest.fixture
def projections(pool: Database) -> ProjectionList:
    return ProjectionList(pool.connection)


def jobs(projections: ProjectionList) -> ProjectionLine:
    (line,) = (each for each in projections().projections if each.name == "jobs")
    return line


def lead(database: TestDatabase, *roles: str) -> None:
    owner = Owner(host="machine", pid=41, boot=uuid4())
    Leadership(owner).stand(database.connect(), roles)


def test_in_an_empty_log_nothing_lags(projections: ProjectionList) -> None:
    line = jobs(projections)

    assert (line.position, line.lag_positions, line.lag_seconds) == (0, 0, 0.0)
    assert (line.state, line.owner) == ("unowned", None)


def test_lag_is_the_age_of_the_oldest_event_that_the_rows_lack(
    database: TestDatabase,
    connection: psycopg.Connection[Any],
    pool: Database,
    projections: ProjectionList,
) -> None:
    enqueue(connection, "noop")
    project(pool)
    database.advance(timedelta(hours=1))
    enqueue(connection, "noop")
    database.advance(timedelta(seconds=7))
    enqueue(connection, "noop")

    line = jobs(projections)

    assert (line.position, line.lag_positions) == (1, 2)
    assert 7 <= line.lag_seconds < 60
    project(pool)
    assert (jobs(projections).lag_positions, jobs(projections).lag_seconds) == (0, 0.0)


def test_what_waits_for_an_open_transaction_lags_too(
    database: TestDatabase,
    connection: psycopg.Connection[Any],
    pool: Database,
    projections: ProjectionList,
) -> None:
    shop = database.connect()
    shop.execute("BEGIN")
    enqueue(shop, "noop")
    enqueue(connection, "noop")
    project(pool)

    page = projections()

    assert (page.horizon, page.last) == (0, 2)
    assert jobs(projections).lag_positions == 2
    shop.execute("ROLLBACK")


def test_its_leader_is_named_until_his_time_runs_out(
    database: TestDatabase, projections: ProjectionList
) -> None:
    lead(database, "projection:jobs")
    line = jobs(projections)
    assert (line.state, line.owner) == ("following", Leader(host="machine", pid=41))

    database.advance(timedelta(seconds=TTL_SECONDS))

    line = jobs(projections)
    assert (line.state, line.owner) == ("unowned", None)


def test_one_that_is_paused_says_by_whom_and_why(
    connection: psycopg.Connection[Any], projections: ProjectionList
) -> None:
    connection.execute(
        """
        UPDATE counterfoil.projections
           SET paused_at = counterfoil.now(), paused_by = 'ann', paused_reason = 'moves'
         WHERE name = 'jobs'
        """
    )

    line = jobs(projections)

    assert line.state == "paused"
    assert line.paused is not None
    assert (line.paused.by, line.paused.reason) == ("ann", "moves")


def test_rows_of_other_code_are_outdated(
    database: TestDatabase,
    connection: psycopg.Connection[Any],
    projections: ProjectionList,
) -> None:
    lead(database, "projection:jobs")
    connection.execute("UPDATE counterfoil.projections SET schema = 7")

    line = jobs(projections)

    assert line.state == "outdated"
    assert (line.schema_number, line.expected_schema) == (7, 3)


def test_a_projection_of_a_newer_version_is_unknown(
    connection: psycopg.Connection[Any], projections: ProjectionList
) -> None:
    connection.execute(
        "INSERT INTO counterfoil.projections (name, schema) VALUES ('zebras', 1)"
    )

    (line,) = (each for each in projections().projections if each.name == "zebras")

    assert (line.state, line.expected_schema) == ("unknown", None)


def test_a_build_is_told_with_its_progress_and_its_builder(
    database: TestDatabase,
    connection: psycopg.Connection[Any],
    projections: ProjectionList,
) -> None:
    for _ in range(4):
        enqueue(connection, "noop")
    connection.execute(
        """
        UPDATE counterfoil.projections
           SET build = 'rebuild', build_schema = 3, build_began_at = counterfoil.now()
         WHERE name = 'jobs'
        """
    )
    connection.execute(
        """
        INSERT INTO counterfoil.checkpoints (name, position)
        VALUES ('jobs_b:counterfoil', 1)
        """
    )
    lead(database, "build:jobs")

    build = jobs(projections).build

    assert build is not None
    assert (build.what, build.position, build.ratio) == ("rebuild", 1, 0.25)
    assert build.builder == Leader(host="machine", pid=41)


def test_what_is_set_aside_is_counted_and_told_with_its_reason(
    connection: psycopg.Connection[Any], pool: Database, projections: ProjectionList
) -> None:
    enqueue(connection, "noop")
    position = add(connection, tag="job.dreamt")
    project(pool)

    assert jobs(projections).set_aside == 1
    (event,) = projections.set_aside("jobs")
    assert (event.position, event.type, event.version) == (position, "job.dreamt", 1)
    assert "job.dreamt" in event.reason


def test_a_place_that_the_log_never_had_is_told(
    connection: psycopg.Connection[Any], pool: Database, projections: ProjectionList
) -> None:
    enqueue(connection, "noop")
    project(pool)
    connection.execute(
        "UPDATE counterfoil.checkpoints SET position = 999"
        " WHERE name = 'jobs_a:counterfoil'"
    )

    assert jobs(projections).state == "ahead"


def test_a_projection_whose_row_is_gone_is_missed(
    connection: psycopg.Connection[Any], projections: ProjectionList
) -> None:
    connection.execute("DELETE FROM counterfoil.projections WHERE name = 'orders'")

    page = projections()

    assert page.absent == ("orders",)
    assert "orders" not in {each.name for each in page.projections}
