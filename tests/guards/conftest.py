"""A buyer over the test's own database, whose connections are looked at."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from application.operators.instruction import Instruction, instruct
from application.operators.quarantine import Quarantining
from domain.event import Actor
from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.guards.buyer import Buyer
from tests.guards.looked import looked_at

WORKER = Actor("worker", "here:1")


@pytest.fixture
def guarding(tmp_path: Path) -> Guarding:
    return Guarding.of(tmp_path / "host", WORKER)


@pytest.fixture
def pool(database: TestDatabase, guarding: Guarding) -> Iterator[Database]:
    with looked_at(database.conninfo, guarding) as pool:
        yield pool


@pytest.fixture
def buyer(pool: Database, guarding: Guarding) -> Buyer:
    return Buyer(pool, guarding.journal)


@pytest.fixture
def quarantining(pool: Database, guarding: Guarding) -> Quarantining:
    return guarding.quarantining(pool, BatchStore(pool))


@pytest.fixture
def olga() -> Instruction:
    return instruct("olga", "restoring last night's backup")
