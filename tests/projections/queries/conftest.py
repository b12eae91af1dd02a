"""A database with an empty read model of the tests' own."""

from typing import Any

import psycopg
import pytest

from tests.fixtures.database import TestDatabase
from tests.projections.queries.things import know


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    connection = database.connect()
    know(connection)
    return connection
