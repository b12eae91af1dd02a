"""Parts of a worker over the test's own database."""

from collections.abc import Iterator

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import kind
from tests.processor.rig import NOOP, Rig, done, rig


@pytest.fixture
def parts(database: TestDatabase) -> Iterator[Rig]:
    """The parts of a worker that knows `noop` and, in turn per key, `turn`."""
    with rig(database, NOOP, kind("turn", done)) as made:
        yield made
