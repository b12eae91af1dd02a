"""Every list by every filter, over 50,000 rows: by its index, and never by more rows.

Right after a load, when the planner knows nothing, and after ANALYZE; first pages and
deep ones; each filter alone and with others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from psycopg import sql

from bench.lists.cases import (
    CASES,
    Case,
    Question,
    middle,
    neighbours,
    pairs,
    singles,
)
from bench.lists.rows import lay
from projections.queries.page import COUNTED, Edge
from projections.queries.search import LOOKED_AT
from projections.queries.terms import Among, Asked, Between, Term
from projections.reading import reading
from tests.fixtures.database import TestDatabase
from tests.performance.lists.plans import Plans, Work

pytestmark = pytest.mark.database

ROWS = 50_000
LIMIT = 50
DEPTH = 10
"""Blocks of an index that lead to a row, and those that are turned over on the way."""

type How = Mapping[str, Edge]

INDEXES = """
SELECT indexrelid::regclass::text, array_agg(attname ORDER BY attnum)
  FROM pg_index
  JOIN pg_attribute ON attrelid = indexrelid
 WHERE indrelid = %(table)s::regclass
 GROUP BY 1
"""


class Desk:
    """Asks for pages of one list, and sees how they are found."""

    def __init__(self, case: Case, database: TestDatabase) -> None:
        self.case = case
        self.plans = Plans(database.connect())
        self.connection = database.connect()
        self.used = set[str | None]()

    def ask(self, *terms: Term, **how: Any) -> Work:  # noqa: ANN401 - of any type
        listing = self.case.listing
        with (
            self.plans.of(self.case.table) as work,
            reading(self.plans.lend, listing.name) as look,
        ):
            listing.read(look, Asked(terms=terms, limit=LIMIT, **how))
        assert None not in work.indexes, "read without an index"
        self.used |= work.indexes
        return work

    def indexes(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each index, by its name."""
        table = {"table": f"counterfoil.{self.case.table}"}
        rows = self.connection.execute(INDEXES, table).fetchall()
        return {
            name.removeprefix("counterfoil."): tuple(columns) for name, columns in rows
        }

    def leading(self, column: str) -> set[str]:
        """The indexes that a field of that column may be found by, or bounded by."""
        field_ = [it for it in self.case.listing.fields.values() if it.column == column]
        if any(it.is_unique or it.is_range for it in field_):
            wanted: tuple[str, ...] = (column,)
        elif column == self.case.order[0]:
            wanted = self.case.order
        else:
            wanted = (column, *self.case.order)
        return {
            name
            for name, columns in self.indexes().items()
            if columns[: len(wanted)] == wanted
        }

    def together(self, fields: set[str]) -> set[str]:
        """The indexes of some of these fields together."""
        listing = self.case.listing
        return {
            name
            for pair in listing.pairs
            if fields >= set(pair)
            for name, columns in self.indexes().items()
            if columns
            == (*(listing.fields[each].column for each in pair), *self.case.order)
        }

    def unused(self) -> set[str]:
        """What follows the table in the names of indexes that nobody looked into."""
        return {
            name.removeprefix(self.case.table + "_")
            for name in set(self.indexes()) - self.used
        }


def analyze(desk: Desk) -> None:
    """Let the planner know everything."""
    table = sql.Identifier("counterfoil", desk.case.table)
    desk.connection.execute(sql.SQL("ANALYZE {}").format(table))


def check_alone(desk: Desk, question: Question, how: How) -> None:
    """One filter looks at the rows that it shows, and at one more of each value."""
    term = question.term
    work = desk.ask(term, **how)
    wanted = desk.leading(question.column)
    if isinstance(term, Between) and question.column != desk.case.order[0]:
        # Few rows are put in order; among many the first are met soon.
        assert work.indexes <= wanted | desk.leading(desk.case.order[0])
        assert work.looked_at <= 3 * LOOKED_AT
        assert work.sorted <= LOOKED_AT
        return
    scans = len(term.values) if isinstance(term, Among) else 1
    assert work.indexes <= wanted
    assert work.looked_at <= scans * (LIMIT + 1)
    assert work.sorted <= scans * (LIMIT + 1)
    assert work.blocks <= scans * (LIMIT + 1 + DEPTH)


def check_together(desk: Desk, both: tuple[Question, Question], how: How) -> None:
    """Two filters look at a bounded stretch, however little they have in common."""
    work = desk.ask(*(it.term for it in both), **how)
    columns = {it.column for it in both} | {desk.case.order[0]}
    wanted = set[str]().union(*map(desk.leading, columns))
    assert work.indexes <= wanted | desk.together({it.term.field for it in both})
    # Both are asked how far they reach, and one leads.
    assert work.looked_at <= 3 * LOOKED_AT
    assert work.sorted <= LOOKED_AT


def check_count(desk: Desk, terms: Sequence[Term]) -> None:
    """A count looks at no more than it tells."""
    work = desk.ask(*terms, is_counted=True)
    ways = len(terms) if len(terms) > 1 else 0
    assert work.looked_at <= 3 * LOOKED_AT + (ways + 1) * (COUNTED + 1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_filter_goes_by_its_index(case: Case, database: TestDatabase) -> None:
    check_list(case, database)


@pytest.mark.pg15
@pytest.mark.parametrize("database_server", ["pg15"], indirect=True)
@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.name)
def test_each_filter_goes_by_its_index_on_postgresql_15(
    case: Case, database: TestDatabase
) -> None:
    check_list(case, database)


def check_list(case: Case, database: TestDatabase) -> None:
    desk = Desk(case, database)
    desk.ask()  # also while there is nothing
    lay(desk.connection, case.table, case.rows, ROWS)
    alone = list(singles(case, desk.connection))
    after = middle(case, desk.connection)

    for question in alone:
        check_alone(desk, question, {})
    analyze(desk)
    for question in alone:
        check_alone(desk, question, {"after": after})
    for both in neighbours(alone):
        check_together(desk, both, {})
    assert desk.unused() == set(case.unasked)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_two_filters_look_at_a_bounded_stretch(
    case: Case, database: TestDatabase
) -> None:
    desk = Desk(case, database)
    lay(desk.connection, case.table, case.rows, ROWS)
    alone = list(singles(case, desk.connection))
    after = middle(case, desk.connection)

    for question in alone:
        check_alone(desk, question, {"before": after})
        check_count(desk, [question.term])
    for both in pairs(alone):
        check_together(desk, both, {})
    analyze(desk)
    for both in pairs(alone):
        check_together(desk, both, {"after": after})
        check_count(desk, [it.term for it in both])
