"""A handler that never lets go of the interpreter: its process says nothing more."""

from datetime import timedelta

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Gate,
    Start,
    enqueue,
    facts,
    history,
    is_over,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]


def test_i3_others_take_over_and_the_guilty_one_ends_alone(
    database: TestDatabase, start_worker: Start, gate: Gate
) -> None:
    """It cannot beat, nor be asked to stop; whoever watches it has to end it."""
    database.advance(timedelta(minutes=10))
    connection = database.connect()
    a = start_worker()
    good = enqueue(connection, "slow")
    gate.wait_call(job=good)
    bad = enqueue(connection, "lawless", args={"way": "holds_the_interpreter"})
    gate.wait_call(job=bad, pid=a.pid).answer()

    b = start_worker(deadline_seconds=2)
    database.advance(timedelta(seconds=61))
    gate.wait_call(job=good, attempt=1).answer()
    for attempt in (1, 2, 3):
        gate.wait_call(job=bad, attempt=attempt).answer()
    until(lambda: is_over(connection))

    assert history(connection, good)[-1] == "succeeded"
    (dead,) = facts(connection, bad, "job.discarded")
    assert (dead["code"], dead["error_code"]) == ("budget_spent", "handler_timeout")
    assert (a.is_alive(), b.is_alive()) == (True, True)
