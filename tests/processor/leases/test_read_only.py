"""S36: a server that takes no writes for a while, and then does again."""

import psycopg
import pytest

from domain.jobs.outcome import Completed
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    enqueue,
    history,
    is_over,
    kind,
    until,
    worker_here,
)

pytestmark = pytest.mark.usefixtures("heads_equal_folds")


def let_writes(database: TestDatabase, *, are_allowed: bool) -> None:
    """Change it for all connections that come, and end those that are there."""
    mode = "off" if are_allowed else "on"
    with psycopg.connect(database.conninfo, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(
            f"ALTER DATABASE {connection.info.dbname}"
            f" SET default_transaction_read_only = {mode}"
        )
        connection.execute(
            """
            SELECT pg_terminate_backend(pid)
              FROM pg_stat_activity
             WHERE datname = current_database()
               AND pid <> pg_backend_pid()
            """
        )


def test_s36_nothing_is_claimed_meanwhile_and_everything_runs_afterwards(
    database: TestDatabase,
) -> None:
    """Refusals are told ever more seldom; no attempt is spent on them."""
    with worker_here(
        database, kind("noop", lambda *_: Completed()), heartbeat_seconds=0.2
    ) as (worker, events):
        until(worker.is_ready)
        let_writes(database, are_allowed=False)
        events.wait_for("claim failed", 3, error="ReadOnlySqlTransaction")
        until(lambda: not worker.is_ready())

        let_writes(database, are_allowed=True)
        connection = database.connect()
        job = enqueue(connection, "noop")
        until(lambda: is_over(connection))
        until(worker.is_ready)

    assert history(connection, job) == ["enqueued", "claimed", "succeeded"]
