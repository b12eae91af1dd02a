"""Causes, histories and counts over 50,000 rows: by their index, row by row as told.

Right after a load, when the planner knows nothing, and after ANALYZE.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import product
from typing import Any

import psycopg
import pytest
from psycopg import sql

from bench.lists.laid.attempts import ATTEMPTS
from bench.lists.laid.letters import LETTERS
from bench.lists.rows import lay
from projections.queries.attempts import AttemptHistory, HistoryFilter
from projections.queries.letters.filter import LetterFilter
from projections.queries.letters.groups import LetterCauses
from projections.read_models.attempts import TYPES
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue
from tests.performance.lists.plans import Plans, Work

pytestmark = pytest.mark.database

ROWS = 50_000
LETTER_TABLE = "read_dead_letters_a"
ATTEMPT_TABLE = "read_attempts_a"
LOOKS = 5
"""For one cause: to find it, its oldest, its newest; and beyond its end."""

RENAME = """
UPDATE counterfoil.read_attempts_a
   SET stream_id = %(job)s
 WHERE stream_id = md5('job 4000')::uuid
"""

type Connection = psycopg.Connection[Any]


def each_time(connection: Connection, table: str) -> Iterator[None]:
    """Go on twice: when nothing is known about the table, and when all is."""
    yield
    name = sql.Identifier("counterfoil", table)
    connection.execute(sql.SQL("ANALYZE {}").format(name))
    yield


@contextmanager
def seen(
    plans: Plans, table: str, index: str, *, at_most: float, merged: int = 0
) -> Iterator[Work]:
    """Let something be asked that goes by one index, and looks at few rows."""
    with plans.of(table) as work:
        yield work
    assert work.indexes == {f"{table}_{index}"}
    assert work.looked_at <= at_most
    assert work.sorted <= merged


def test_causes_cost_what_there_is_to_count(database: TestDatabase) -> None:
    plans, connection = Plans(database.connect()), database.connect()
    lay(connection, LETTER_TABLE, LETTERS, ROWS)
    causes = LetterCauses(plans.lend)
    letters = connection.execute(
        "SELECT tenant_id FROM counterfoil.read_dead_letters_a WHERE state = 'open'"
    ).fetchall()
    of_default = letters.count(("default",))
    young = LetterFilter(younger_than=timedelta(minutes=10))
    old = LetterFilter(older_than=timedelta(hours=13))

    for _ in each_time(connection, LETTER_TABLE):
        n = len(causes(LetterFilter()).causes)
        with seen(plans, LETTER_TABLE, "cause", at_most=len(letters) + n * LOOKS):
            causes(LetterFilter())
        for wanted in (young, old):
            with seen(plans, LETTER_TABLE, "cause", at_most=n * LOOKS + 700):
                found = causes(wanted).causes
            assert 0 < sum(each.count.value for each in found) <= 700
        at_most = of_default + n * LOOKS
        with seen(plans, LETTER_TABLE, "tenant_cause", at_most=at_most):
            causes(LetterFilter(tenant_id="default"))
        with seen(plans, LETTER_TABLE, "tenant_cause", at_most=1):
            causes(LetterFilter(tenant_id="nobody"))


def test_causes_are_counted_in_their_index_alone(database: TestDatabase) -> None:
    plans, connection = Plans(database.connect()), database.connect()
    lay(connection, LETTER_TABLE, LETTERS, 5_000)
    connection.execute("VACUUM ANALYZE counterfoil.read_dead_letters_a")
    causes = LetterCauses(plans.lend)

    for wanted in (LetterFilter(), LetterFilter(tenant_id="default")):
        with plans.of(LETTER_TABLE) as work:
            causes(wanted)
        nodes = [node for plan in work.plans for node in plan.all()]
        scans = {it.Node_Type for it in nodes if it.Relation_Name == LETTER_TABLE}
        assert scans == {"Index Only Scan"}


def test_a_history_costs_what_it_tells(database: TestDatabase) -> None:
    plans, connection = Plans(database.connect()), database.connect()
    lay(connection, ATTEMPT_TABLE, ATTEMPTS, ROWS)
    attempts = AttemptHistory(plans.lend)
    job = enqueue(connection, "report")  # what an id stands for is told by the log
    connection.execute(RENAME, {"job": job})

    for _ in each_time(connection, ATTEMPT_TABLE):
        # Looked for, shown, counted.
        with seen(plans, ATTEMPT_TABLE, "correlation_id", at_most=13, merged=6):
            history = attempts(HistoryFilter(key="order:4000"))
        assert history is not None
        assert len(history.items) == 6
        at_most = 1 + 3 + 6
        with seen(plans, ATTEMPT_TABLE, "correlation_id", at_most=at_most, merged=6):
            attempts(HistoryFilter(key="order:4000", limit=2))
        with seen(plans, ATTEMPT_TABLE, "pkey", at_most=3 + 3):
            history = attempts(HistoryFilter(key=str(job)))
        assert history is not None
        assert len(history.items) == 3


def test_counts_cost_what_they_tell(database: TestDatabase) -> None:
    plans, connection = Plans(database.connect()), database.connect()
    lay(connection, ATTEMPT_TABLE, ATTEMPTS, ROWS)
    attempts = AttemptHistory(plans.lend)

    for _ in each_time(connection, ATTEMPT_TABLE):
        for tenant, most in product((None, "default", "nobody"), (100, 10_000)):
            at_most = 0 if tenant == "nobody" else len(TYPES) * (most + 1)
            with seen(plans, ATTEMPT_TABLE, "type", at_most=at_most):
                attempts.count(tenant, most)
