"""The answer of COMMIT is lost under a key: one effect, and its own answer."""

from collections.abc import Callable

import pytest

from application.unit import Repeated
from infrastructure.postgres.batch_store import BatchStore
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Plan, Proxy
from tests.once.asked import birth_once, born, keys
from tests.store.groups import job_birth, written

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.mark.parametrize(
    "cut", [Proxy.cut_commit_answer, Proxy.cut_before_commit], ids=["after", "before"]
)
def test_a_birth_under_a_key_is_done_once_and_is_nobodys_repetition(
    database: TestDatabase,
    proxy: Proxy,
    cut_store: BatchStore,
    cut: Callable[[Proxy], Plan],
) -> None:
    first, second = job_birth(), job_birth()
    plan = cut(proxy)

    (result,) = cut_store.commit([birth_once(first)])
    (again,) = cut_store.commit([birth_once(second)])

    plan.wait()
    assert written(result).position > 0
    assert isinstance(again, Repeated)
    connection = database.connect()
    assert len(keys(connection)) == 1
    assert born(connection, first, second) == [True, False]
