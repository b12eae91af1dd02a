"""Dead letters and attempts of one database, read after everything is projected."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from infrastructure.postgres.database import Database
from projections.queries.attempts import AttemptHistory, History, HistoryFilter
from projections.queries.letters import Letters
from projections.queries.letters.filter import LetterFilter
from projections.queries.letters.groups import Cause
from projections.queries.letters.listing import EndedLine, Letter
from projections.queries.terms import Asked
from projections.read_models.all import BY_NAME
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_model_holds, project

PROJECTIONS = [BY_NAME["dead_letters"], BY_NAME["attempts"]]


class Office:
    """Where the letters of one installation are asked about."""

    def __init__(self, database: TestDatabase, pool: Database) -> None:
        self.connection = database.connect()
        self._pool = pool
        self.letters = Letters.over(pool.connection)
        self.attempts = AttemptHistory(pool.connection)

    def catch_up(self) -> None:
        """Bring both read models to the horizon, and hold them to their books."""
        project(self._pool, PROJECTIONS)
        for projection in PROJECTIONS:
            assert_read_model_holds(self.connection, projection)

    def listed(self, **wanted: Any) -> tuple[Letter, ...]:  # noqa: ANN401 - of the filter
        """Return the letters that fit, all on one page."""
        page = self.letters.page(LetterFilter(**wanted), limit=200, is_counted=True)
        assert page is not None
        assert page.next is None
        assert page.count is not None
        assert page.count.value == len(page.items)
        return page.items

    def causes(self, **wanted: Any) -> tuple[Cause, ...]:  # noqa: ANN401 - of the filter
        """Return the causes of the letters that fit."""
        return self.letters.causes(LetterFilter(**wanted)).causes

    def ended(self) -> tuple[EndedLine, ...]:
        """Return the letters that somebody has ended."""
        return self.letters.ended(Asked()).items

    def history(self, key: object, **wanted: Any) -> History:  # noqa: ANN401 - of the filter
        """Return the history of an id that something has."""
        found = self.attempts(HistoryFilter(key=str(key), **wanted))
        assert found is not None
        return found

    def age(self, **by: float) -> None:
        """Let all letters have died so long before."""
        for table in ("read_dead_letters_a", "read_dead_letters_b"):
            self.connection.execute(
                f"UPDATE counterfoil.{table} SET died_at = died_at - %s",  # noqa: S608 - ours
                (timedelta(**by),),
            )


@pytest.fixture
def office(database: TestDatabase) -> Iterator[Office]:
    with Database(database.conninfo, pool_size=2) as pool:
        yield Office(database, pool)
