"""The library's own test cases, as it ships them, over our recorder and tables."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest import TestCase, defaultTestLoader

import pytest
from eventsourcing.postgres import PostgresDatastore

from infrastructure.log.checkpoints import CheckpointRecorder
from infrastructure.log.datastore import PooledDatastore
from infrastructure.postgres.database import Database
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.door.library import OpaqueRecorder, datastore_of
from tests.log.door.shipped import APPLICATION, NON_INTERLEAVING, PROCESS, TRACKING

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

type Case = type[TestCase]

SUITES: list[tuple[Case, type[Any], str]] = [
    (APPLICATION, OpaqueRecorder, "library"),
    (NON_INTERLEAVING, OpaqueRecorder, "library"),
    (PROCESS, OpaqueRecorder, "library"),
    (TRACKING, OpaqueRecorder, "library"),
    (TRACKING, CheckpointRecorder, "library"),
    (TRACKING, CheckpointRecorder, "ours"),
    (PROCESS, OpaqueRecorder, "ours"),
]
"""The suite, the recorder, and whose pool it works over."""

CASES = [
    pytest.param(
        suite,
        recorder,
        pool,
        name,
        id=f"{suite.__name__}-{recorder.__name__}-{pool}-{name}",
    )
    for suite, recorder, pool in SUITES
    for name in (
        *defaultTestLoader.getTestCaseNames(suite),
        # Shipped under this name, and called by the library's own subclasses.
        *(name for name in vars(suite) if name.startswith("optional_test")),
    )
]


@pytest.fixture
def datastore(database: TestDatabase, pool: str) -> Iterator[PostgresDatastore]:
    # Some cases begin their streams at version 0, which is not in our log.
    database.connect().execute(
        "ALTER TABLE counterfoil.events DROP CONSTRAINT events_version_positive"
    )
    with ExitStack() as stack:
        if pool == "ours":
            opened = stack.enter_context(Database(database.conninfo, pool_size=4))
            yield PooledDatastore(opened)
        else:
            store = datastore_of(database.conninfo)
            stack.callback(store.close)
            yield store


def concrete(suite: Case, create: Callable[[], object]) -> Case:
    """Return the abstract `suite` with its recorder."""
    return type(suite.__name__, (suite,), {"create_recorder": lambda _self: create()})


@pytest.mark.parametrize(("suite", "recorder", "pool", "name"), CASES)
def test_the_librarys_case_passes(
    suite: Case, recorder: type[Any], name: str, datastore: PostgresDatastore
) -> None:
    case = concrete(suite, lambda: recorder(datastore))(name)

    case.debug()  # raises what fails
