"""A race is lost, then a COMMIT on its way, then its answer: done once, told once."""

import pytest

from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.recording.deeds import DEEDS, World
from tests.store.test_races import lose_races

pytestmark = pytest.mark.database


@pytest.mark.parametrize("action", DEEDS)
def test_whatever_its_transaction_meets_a_deed_is_done_once_and_is_on_record(
    database: TestDatabase, world: World, proxy: Proxy, action: str
) -> None:
    rows, on_record = world.rows(), world.actions()
    lose_races(database, "40001", 1)
    plans = proxy.cut_before_commit(of=action), proxy.cut_commit_answer(of=action)

    with Database(proxy.conninfo, pool_size=2) as pool:
        DEEDS[action](World(pool))  # which is told what it was to be told

    for plan in plans:
        plan.wait()
    assert world.rows() != rows
    assert world.actions() == [*on_record, action]
