"""One connection for tests that need only one, and waiting for a backend to wait."""

import time
from typing import Any

import psycopg
import pytest

from tests.fixtures.database import TestDatabase


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    """An autocommit connection to the test's database."""
    return database.connect()


def wait_until_blocked(
    watcher: psycopg.Connection[Any], waiting: int, by: int, seconds: float = 20
) -> None:
    """Return once the backend `waiting` waits for the backend `by`.

    Raises:
        TimeoutError: it did not.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        row = watcher.execute("SELECT pg_blocking_pids(%s)", [waiting]).fetchone()
        if row is not None and by in row[0]:
            return
        time.sleep(0.01)
    msg = f"backend {waiting} never waited for {by}"
    raise TimeoutError(msg)
