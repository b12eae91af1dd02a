"""Choose what a bulk operation is about: jobs that fit a filter, at one moment.

The filter is written as in lists (`projections.queries.grammar`).  What is done to a
thing is decided from its stream, not from the row that led to it.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from application.bulk.port import Chosen
from application.bulk.request import EMPTY_FILTER
from domain.errors import InvalidRequestError
from domain.members import refuse
from projections.connections import Lend
from projections.queries.grammar.declared import OPERATORS_JOBS
from projections.queries.grammar.errors import InvalidFilterError
from projections.queries.jobs import JobRecords
from projections.queries.terms import TENANT, Among

_PATH: Final = "target.filter"


@dataclass(frozen=True, slots=True)
class JobChooser:
    """See `Chooser`."""

    lend: Lend

    def check(self, filter_: str) -> str:
        """See `Chooser.check`."""
        try:
            text = OPERATORS_JOBS.canonical(filter_)
        except InvalidFilterError as error:
            raise InvalidRequestError(error.code, _PATH, error.detail) from error
        if not text:
            rule = "at least one term: an empty filter would mean every job"
            refuse(EMPTY_FILTER, _PATH, rule)
        return text

    @contextmanager
    def choose(self, tenant_id: str, filter_: str) -> Generator[Chosen]:
        """See `Chooser.choose`."""
        terms = OPERATORS_JOBS.terms(filter_)
        mine = Among(TENANT, (tenant_id,))
        with JobRecords(self.lend).at_one_moment((*terms, mine)) as chosen:
            yield chosen
