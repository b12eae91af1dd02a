"""What the database refuses is repeated, told or waited for; no event pays for it."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

from infrastructure.errors import CommitUnknownError, DatabaseUnavailableError
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.projecting.advanced import State
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.refusal import ProjectingError
from infrastructure.projecting.table import ReadModelMismatchError
from projections.read_models.jobs import Jobs
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_model_holds, position_of
from tests.log.jobs import births, job_refs, written
from tests.projecting.mishaps import Mishaps

pytestmark = pytest.mark.database

JOBS = Jobs()
WRITE = "INSERT INTO"


@pytest.fixture
def mishaps(database: TestDatabase) -> Iterator[Mishaps]:
    with Database(database.conninfo, pool_size=1) as pool:
        written(BatchStore(pool).commit([births(job_refs(3))]))
    lent = Mishaps(database.conninfo)
    yield lent
    lent.close()


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def nothing_is_written(connection: psycopg.Connection[Any]) -> bool:
    aside = connection.execute("SELECT FROM counterfoil.projection_set_aside")
    return position_of(connection, JOBS, "a") == 0 and aside.fetchall() == []


@pytest.mark.parametrize("race", [errors.DeadlockDetected, errors.SerializationFailure])
def test_a_race_is_run_again(
    race: type[psycopg.Error], mishaps: Mishaps, connection: psycopg.Connection[Any]
) -> None:
    mishaps.fail_before(WRITE, race("lost"), times=5)

    told = Projector(mishaps).advance(JOBS)

    assert (told.state, told.position) == (State.ADVANCED, 3)
    assert_read_model_holds(connection, JOBS)


def test_a_race_that_is_always_lost_is_the_databases_fault(
    mishaps: Mishaps, connection: psycopg.Connection[Any]
) -> None:
    mishaps.fail_before(WRITE, errors.DeadlockDetected("lost"), times=6)
    projector = Projector(mishaps)

    with pytest.raises(DatabaseUnavailableError):
        projector.advance(JOBS)

    assert nothing_is_written(connection)
    assert projector.advance(JOBS).position == 3
    assert_read_model_holds(connection, JOBS)


def test_a_lock_that_is_not_free_in_time_is_told_and_not_waited_for_again(
    mishaps: Mishaps, connection: psycopg.Connection[Any]
) -> None:
    mishaps.fail_before("FOR SHARE", errors.LockNotAvailable("held"))
    projector = Projector(mishaps)

    busy, later = projector.advance(JOBS), projector.advance(JOBS)

    assert (busy.state, later.state) == (State.BUSY, State.ADVANCED)
    assert_read_model_holds(connection, JOBS)


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (errors.DiskFull("no space"), DatabaseUnavailableError),
        (errors.InternalError_("corrupt"), DatabaseUnavailableError),
        (errors.InsufficientPrivilege("denied"), ReadModelMismatchError),
        (errors.ActiveSqlTransaction("odd"), ProjectingError),
    ],
)
def test_what_is_no_events_fault_sets_none_aside(
    refused: psycopg.Error,
    told: type[Exception],
    mishaps: Mishaps,
    connection: psycopg.Connection[Any],
) -> None:
    mishaps.fail_before(WRITE, refused)
    projector = Projector(mishaps)

    with pytest.raises(told):
        projector.advance(JOBS)

    assert nothing_is_written(connection)
    assert projector.advance(JOBS).position == 3


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_lost_answer_to_a_commit_counts_nothing_twice(
    is_committed: bool,  # noqa: FBT001 - a parameter
    mishaps: Mishaps,
    connection: psycopg.Connection[Any],
) -> None:
    mishaps.lose_answer(is_committed=is_committed)
    projector = Projector(mishaps)

    with pytest.raises(CommitUnknownError):
        projector.advance(JOBS)

    assert position_of(connection, JOBS, "a") == (3 if is_committed else 0)
    after = projector.advance(JOBS)
    assert after.state is (State.UP_TO_DATE if is_committed else State.ADVANCED)
    assert_read_model_holds(connection, JOBS)
