"""Mechanisms 15: who is killed or frozen says no more that he is idle."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.notices import heard, listening, rests
from tests.fixtures.workers import Start, WorkerProcess, enqueue, is_over, until

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

PAST_A_SIGN = timedelta(seconds=2)


@pytest.mark.parametrize("end", [WorkerProcess.freeze, WorkerProcess.kill])
def test_the_sign_of_a_process_that_says_nothing_more_expires(
    database: TestDatabase, start_worker: Start, end: Callable[[WorkerProcess], None]
) -> None:
    connection = database.connect()
    worker = start_worker(listens=True)
    until(partial(rests, connection))
    end(worker)
    database.advance(PAST_A_SIGN)
    listener = listening(database)

    enqueue(connection, "noop")

    assert heard(listener, connection) == []
    worker.thaw() if worker.is_alive() else start_worker(listens=True)
    until(partial(is_over, connection))
