"""A replay changes rows of read models and what is kept of their builds; nothing else.

By construction: projections only compute (import-linter sees to it), and a builder has
nothing but a connection and the statements about the spare table.  Here the server is
asked how many rows of which tables were ever written.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

from infrastructure.postgres.database import Database, connect
from infrastructure.projecting.builds.rebuild import Rebuild
from infrastructure.projecting.builds.verify import Verify
from projections.read_models.all import ALL
from tests.builds.world import ANN, World, silent
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.fixtures.workers import until
from tests.operators.world import World as Shop

pytestmark = pytest.mark.database

OF_BUILDS = {"projections", "projection_set_aside", "checkpoints", "leadership"}

WRITTEN = """
SELECT relname, n_tup_ins + n_tup_upd + n_tup_del
  FROM pg_stat_user_tables
 WHERE schemaname = 'counterfoil'
"""

PROMOTED = """
SELECT promoted.data ->> 'projection', taken.data ->> 'target'
  FROM counterfoil.events AS promoted
  JOIN counterfoil.events AS taken
    ON taken.meta ->> 'commit_id' = promoted.meta ->> 'commit_id'
 WHERE promoted.type = 'projection.promoted'
   AND taken.type = 'operator.action_taken'
"""
"""Each promotion with the action that tells it."""


@contextmanager
def counted(database: TestDatabase, name: str) -> Iterator[Database]:
    """Give connections; afterwards the server has counted what they have done."""
    with Database(database.conninfo, pool_size=4, application_name=name) as pool:
        yield pool
    asked = "SELECT 1 FROM pg_stat_activity WHERE application_name = %s"
    with closing(database.connect()) as looking:
        until(lambda: not looking.execute(asked, (name,)).fetchall())


def written(connection: psycopg.Connection[Any]) -> dict[str, int]:
    """Return how many rows of each table were ever written."""
    return dict(connection.execute(WRITTEN).fetchall())


def test_a_replay_writes_nothing_but_rows_of_read_models(
    database: TestDatabase,
) -> None:
    with (
        counted(database, "setup") as pool,
        closing(connect(database.conninfo, application_name="setup")) as connection,
    ):
        Shop(pool, connection).operation("ann")
        World(database, pool).live(8)
        project(pool)
    with closing(database.connect()) as looking:
        before = written(looking)

    with counted(database, "builder") as pool:
        for projection in ALL:
            Verify(pool)(projection, silent)
            Rebuild(pool)(projection, ANN, silent)

    with closing(database.connect()) as looking:
        after = written(looking)
    assert min(before[it] for it in ("events", "jobs", "operations", "outbox")) > 0
    changed = {it for it in after if after[it] != before[it]}
    assert {it for it in changed if not it.startswith("read_")} - OF_BUILDS == {
        "events"
    }
    assert after["events"] - before["events"] == 2 * len(ALL)
    with closing(database.connect()) as looking:
        promoted = looking.execute(PROMOTED).fetchall()
    assert sorted(promoted) == sorted((it.name, f"projection:{it.name}") for it in ALL)
