"""A handler that forks and forgets to leave: its copy is no second worker."""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Gate,
    Start,
    descendants,
    enqueue,
    facts,
    history,
    is_over,
    until,
    wait_gone,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]


def test_i4_a_copy_that_a_handler_makes_runs_nothing_a_second_time(
    database: TestDatabase, start_worker: Start, gate: Gate, tmp_path: Path
) -> None:
    """What was claimed ahead lies in the memory of the copy too."""
    connection = database.connect()
    worker = start_worker(queues={"default": 1}, book=str(tmp_path))
    forking = enqueue(connection, "lawless", args={"way": "comes_back_twice"})
    call = gate.wait_call(job=forking)
    others = [enqueue(connection, "booked", args={"n": n}) for n in range(8)]
    until(lambda: all_claimed(connection, others))

    call.answer()
    until(lambda: is_over(connection))

    (said,) = facts(connection, forking, "job.succeeded")
    assert said["result"] == {"pid": worker.pid}
    assert {history(connection, job)[-1] for job in others} == {"succeeded"}
    effects = [json.loads(line) for line in lines(tmp_path)]
    assert Counter(each["n"] for each in effects) == Counter(range(8))
    wait_gone(descendants(worker.pid))


def all_claimed(connection: psycopg.Connection[Any], jobs: list[UUID]) -> bool:
    return all(history(connection, job)[-1] == "claimed" for job in jobs)


def lines(book: Path) -> list[str]:
    return [line for page in book.iterdir() for line in page.read_text().splitlines()]
