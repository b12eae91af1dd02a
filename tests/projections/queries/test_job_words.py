"""What a job is called on a surface, and what is found by that word, is the same."""

from datetime import datetime, timedelta
from itertools import product
from uuid import UUID

import pytest

from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from projections.queries.grammar.declared import OPERATORS_JOBS, SHOPS_JOBS
from projections.queries.grammar.job_words import (
    DEAD_LETTER,
    RIVER,
    SHOP,
    river,
    shop,
)
from projections.queries.jobs import JobRecords
from projections.queries.page import Page
from projections.queries.terms import Asked
from projections.read_models.jobs import JobRow
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

LAY = """
INSERT INTO counterfoil.read_jobs_a
       (stream_id, tenant_id, created_at, updated_at, correlation_id, version, state,
        cause, kind, queue, priority, attempt, parkings, run_at, cancel_requested)
VALUES (%s, 'default', counterfoil.now(), counterfoil.now(), 'c', 1, %s,
        %s, 'noop', 'default', 2, 0, 0, counterfoil.now() + %s, false)
"""
ENDED = ("running", "succeeded", "discarded", "cancelled")
DUE = (timedelta(hours=-1), timedelta(hours=1), None)
WAITING = [
    (cause, due)
    for cause, due in product((None, "after_failure", "parked"), DUE)
    # Only at a gate nobody knows when.
    if due is not None or cause == "parked"
]


def ask(database: TestDatabase, text: str, *, is_shop: bool = False) -> Page[JobRow]:
    vocabulary = SHOPS_JOBS if is_shop else OPERATORS_JOBS
    with Database(database.conninfo, pool_size=1) as pool:
        return JobRecords(pool.connection)(Asked(terms=vocabulary.terms(text)))


def ids(page: Page[JobRow]) -> set[UUID]:
    return {row.stream_id for row in page.items}


def test_every_word_finds_what_is_called_so(database: TestDatabase) -> None:
    with database.connect() as connection:
        for state in ENDED:
            connection.execute(LAY, (new_id(), state, None, timedelta(hours=-1)))
        for cause, due in WAITING:
            connection.execute(LAY, (new_id(), "waiting", cause, due))
    everything = ask(database, "")
    rows, now = everything.items, everything.as_of.at
    assert len(rows) == len(ENDED) + len(WAITING)

    for word in RIVER:
        expected = {row.stream_id for row in rows if is_called(word, river(row, now))}
        assert ids(ask(database, f"state:{word}")) == expected != set(), word
        others = {row.stream_id for row in rows} - expected
        assert ids(ask(database, f"-state:{word}")) == others, word
    for word in SHOP:
        expected = {row.stream_id for row in rows if shop(row) == word}
        assert ids(ask(database, f"state:{word}", is_shop=True)) == expected != set()
    mixed = ids(ask(database, "state:retryable,completed age:<1h"))
    assert mixed == {
        row.stream_id for row in rows if river(row, now) in {"retryable", "completed"}
    }


def is_called(word: str, state: str) -> bool:
    if word == DEAD_LETTER:
        return state in {"discarded", "cancelled"}
    return state == word


def test_what_is_due_this_very_moment_is_available() -> None:
    now = datetime.fromisoformat("2026-11-30T12:00:00Z")

    assert river(Waiting(now), now) == "available"
    assert river(Waiting(now + timedelta(microseconds=1)), now) == "scheduled"


class Waiting:
    state = "waiting"
    cause = None

    def __init__(self, run_at: datetime) -> None:
        self.run_at = run_at
