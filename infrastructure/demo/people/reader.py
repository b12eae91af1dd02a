"""Somebody who asks the read models, and writes down what they tell.

Everything is asked as the command line asks it: the same queries, and the same
comparison with a fold of the whole log.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, LiteralString

from infrastructure.demo.diary import Answers, Compared, Waiting
from infrastructure.postgres.database import Database
from infrastructure.postgres.heads.table import number
from infrastructure.projecting.builds.builds import Builds
from infrastructure.projecting.waiting import at_least
from projections.queries.all import Queries, queries_over
from projections.queries.letters.filter import LetterFilter
from projections.queries.page import Page
from projections.queries.records.orders import PAID, OrderLine
from projections.queries.terms import Among, Asked

_MOST: Final = 200
"""Orders of one page."""
_PATIENCE_S: Final = 120.0
"""Longer than another process takes to go on with what a dead one led."""
_LOOK_S: Final = 0.1

_HANDED_OUT: Final = "SELECT counterfoil.last_position()"


@dataclass(frozen=True, slots=True)
class Reader:
    """Asks over connections of its own."""

    database: Database
    queries: Queries
    builds: Builds

    @classmethod
    def over(cls, database: Database) -> "Reader":
        """Return a reader of this database."""
        return cls(database, queries_over(database.connection), Builds(database))

    def waiting(self, since: int) -> Waiting:
        """Return what waits for what; everything up to position `since` is in it.

        Raises:
            CounterfoilError: the read models are not that far in time.
        """
        pages = list(self._unfulfilled(since))
        lines = [line for page in pages for line in page.items]
        return Waiting(
            first=min(page.as_of.position for page in pages),
            # One of them may be further than the list as a whole.
            last=self._number(_HANDED_OUT),
            orders={line.order_id: _waits_for(line) for line in lines},
            held=frozenset(
                str(line.wait.operation_id)
                for line in lines
                if line.wait is not None and line.wait.gate is not None
            ),
        )

    def follow(self) -> None:
        """Return once the read models have followed the whole log, or after a while."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while any(
            each.lag_positions for each in self.queries.projections().projections
        ):
            if time.monotonic() >= give_up_at:
                return  # the check tells which
            time.sleep(_LOOK_S)

    def answers(self) -> Answers:
        """Return what they tell when nothing happens any more.

        Raises:
            CounterfoilError: one cannot be asked, or be compared.
        """
        counted = self.queries.attempts.count(most=None)
        causes = self.queries.letters.causes(LetterFilter()).causes
        lines = [line for page in self._unfulfilled(0) for line in page.items]
        return Answers(
            position=counted.as_of.position,
            attempts={each.type: each.count.value for each in counted.counts},
            dead={
                cause_of(each.kind, each.code, each.error_code): each.count.value
                for each in causes
            },
            waiting={line.order_id: _waits_for(line) for line in lines},
            compared=dict(self._compared()),
        )

    def _compared(self) -> Iterator[tuple[str, Compared]]:
        lags = {
            each.name: each.lag_positions
            for each in self.queries.projections().projections
        }
        terms = self._terms()
        for name in self.builds.names:
            told = self.builds.verify(name, lambda _: None)
            wrong = told.missing + told.extra + told.differing + told.set_aside
            yield name, Compared(told.rows, wrong, lags[name], terms.get(name, 0))

    def _number(self, statement: LiteralString) -> int:
        with self.database.connection() as connection:
            return number(connection.execute(statement).fetchall()[0][0])

    def _terms(self) -> dict[str, int]:
        with self.database.connection() as connection:
            rows = connection.execute(_TERMS).fetchall()
        return {str(row[0]): number(row[1]) for row in rows}

    def _unfulfilled(self, since: int) -> Iterator[Page[OrderLine]]:
        after = None
        while True:
            page = self.queries.orders(
                Asked(terms=(Among("state", (PAID,)),), after=after, limit=_MOST),
                at_least=at_least(self.database.connection, since, _PATIENCE_S),
            )
            yield page
            if page.next is None:
                return
            after = page.next


_TERMS: Final = """
SELECT replace(role, 'projection:', ''), term FROM counterfoil.leadership
 WHERE role LIKE 'projection:%'
"""


def _waits_for(line: OrderLine) -> str:
    return "nothing" if line.wait is None else str(line.wait.waits_for)


def cause_of(kind: str, code: str, met: str | None) -> str:
    """Return a cause in a line."""
    return f"{kind}: {code}" + (f" ({met})" if met else "")
