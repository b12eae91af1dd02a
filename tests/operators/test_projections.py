"""Pause and resume: with a reason, on record, and whoever comes second is told."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg
import pytest

from application.errors import NotFoundError, ProjectionPausedError
from application.operators.instruction import instruct
from application.operators.projections import Projections
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.projecting.switches import projections_over
from projections.read_models.jobs import Jobs
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_model_holds, project
from tests.fixtures.workers import enqueue, until
from tests.projecting.poison import add

pytestmark = pytest.mark.database

JOBS = "jobs"
MOVE = instruct("ann", "its table moves")
SPACE = instruct("bob", "the disk is full")
BACK = instruct("ann", "all is well")


def wired(pool: Database) -> Projections:
    return projections_over(pool, BatchStore(pool))


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=4) as pool:
        yield pool


@pytest.fixture
def projections(pool: Database) -> Projections:
    return wired(pool)


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def recorded(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    """Return what operators did to projections: tag, data, who and why."""
    return connection.execute(
        """
        SELECT type, data, meta->'actor'->>'id', meta->>'reason'
          FROM counterfoil.events
         WHERE type LIKE 'projection.%' OR type = 'operator.action_refused'
         ORDER BY position
        """
    ).fetchall()


def paused_by(connection: psycopg.Connection[Any]) -> tuple[Any, ...]:
    (row,) = connection.execute(
        """
        SELECT paused_by, paused_reason, paused_at IS NOT NULL
          FROM counterfoil.projections WHERE name = 'jobs'
        """
    ).fetchall()
    return tuple(row)


def actions(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return connection.execute(
        """
        SELECT data->>'action', data->'before', data->'after'
          FROM counterfoil.events
         WHERE type = 'operator.action_taken' AND data->>'target' = 'projection:jobs'
        """
    ).fetchall()


def test_a_pause_is_on_record_with_its_reason_and_its_place(
    projections: Projections, pool: Database, connection: psycopg.Connection[Any]
) -> None:
    enqueue(connection, "noop")
    project(pool)

    told = projections.pause(JOBS, MOVE)

    assert told.events == ("projection.paused",)
    assert told.pause is not None
    assert (told.pause.by, told.pause.reason) == ("ann", "its table moves")
    data = {"projection": JOBS, "slot": "a", "position": 1}
    assert recorded(connection) == [
        ("projection.paused", data, "ann", "its table moves")
    ]
    assert told.position == 3
    ((action, before, after),) = actions(connection)
    assert (action, before["state"], after["state"]) == (
        *("projection.paused", "following", "paused"),
    )
    assert paused_by(connection) == ("ann", "its table moves", True)


def test_the_same_once_more_changes_nothing(
    projections: Projections, connection: psycopg.Connection[Any]
) -> None:
    first = projections.pause(JOBS, MOVE)

    again = projections.pause(JOBS, MOVE)

    assert (again.events, again.pause) == ((), first.pause)
    assert again.position >= first.position > 0
    assert len(recorded(connection)) == 1


def test_whoever_pauses_it_otherwise_is_told_who_did_and_that_is_on_record(
    projections: Projections, connection: psycopg.Connection[Any]
) -> None:
    projections.pause(JOBS, MOVE)

    with pytest.raises(ProjectionPausedError, match=r"since 20.*Z by ann"):
        projections.pause(JOBS, SPACE)

    assert paused_by(connection) == ("ann", "its table moves", True)
    refused = {
        "action": "pause_projection",
        "target": "projection:jobs",
        "code": "projection_paused",
    }
    assert recorded(connection)[1:] == [
        ("operator.action_refused", refused, "bob", "the disk is full")
    ]


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_projection_that_does_not_exist_is_refused_on_record(
    verb: str, projections: Projections, connection: psycopg.Connection[Any]
) -> None:
    with pytest.raises(NotFoundError, match="no projection jbos"):
        getattr(projections, verb)("jbos", MOVE)

    ((tag, data, *_),) = recorded(connection)
    assert tag == "operator.action_refused"
    assert data["action"] == f"{verb}_projection"
    assert data["target"] == "projection:jbos"


def test_a_resumption_ends_a_pause_whoever_made_it(
    projections: Projections, connection: psycopg.Connection[Any]
) -> None:
    projections.pause(JOBS, SPACE)

    told = projections.resume(JOBS, BACK)

    assert (told.events, told.pause) == (("projection.resumed",), None)
    assert told.retried is None
    assert paused_by(connection) == (None, None, False)


def test_what_is_not_paused_is_not_resumed(
    projections: Projections, connection: psycopg.Connection[Any]
) -> None:
    told = projections.resume(JOBS, BACK)

    assert (told.events, told.position) == ((), 1)
    assert recorded(connection) == []
    ((action, before, after),) = actions(connection)
    assert action == "projection.resumed"
    assert (
        before
        == after
        == {
            "state": "following",
            "paused_by": None,
            "slot": "a",
            "set_aside": 0,
        }
    )


def test_a_resumption_tries_again_what_was_set_aside(
    projections: Projections, pool: Database, connection: psycopg.Connection[Any]
) -> None:
    enqueue(connection, "noop")
    add(connection, tag="job.dreamt")
    project(pool)

    told = projections.resume(JOBS, BACK)

    assert told.events == ("projection.resumed",)
    assert told.retried is not None
    assert (told.retried.tried, told.retried.left) == (1, 1)
    ((_, data, *_),) = recorded(connection)
    assert data["set_aside"] == 1
    assert_read_model_holds(connection, Jobs())


def test_of_two_at_once_one_wins_and_the_other_is_told(
    database: TestDatabase,
    projections: Projections,
    connection: psycopg.Connection[Any],
) -> None:
    holder = database.connect()
    with ThreadPoolExecutor(2) as threads:
        with holder.transaction():
            holder.execute("SELECT 1 FROM counterfoil.projections FOR UPDATE")
            acts = []
            for n, instruction in enumerate((MOVE, SPACE), 1):
                acts.append(threads.submit(projections.pause, JOBS, instruction))
                until(partial(waits, connection, n))
        won = acts[0].result()
        with pytest.raises(ProjectionPausedError, match="by ann"):
            acts[1].result()

    assert won.events == ("projection.paused",)
    assert [row[0] for row in recorded(connection)] == [
        "projection.paused",
        "operator.action_refused",
    ]


def waits(connection: psycopg.Connection[Any], n: int) -> bool:
    """Return whether so many wait for a lock."""
    ((found,),) = connection.execute(
        """
        SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'
        """
    ).fetchall()
    return bool(found >= n)
