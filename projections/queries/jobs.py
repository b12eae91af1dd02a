"""Every job that ever was, by whatever is known of it: what heads forget is here.

What is unfinished or dead, and what it waits for right now, is told by the heads
(`projections.job_list`); this list is as old as its position, and complete.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg import sql
from psycopg.rows import scalar_row

from projections.connections import Lend
from projections.queries.listing import Listing
from projections.queries.page import MOST, Page
from projections.queries.terms import (
    INVALID_FILTER,
    MOST_VALUES,
    Among,
    Asked,
    Field,
    Term,
    check,
    refuse,
)
from projections.read_models.jobs import JobRow
from projections.reading import AtLeast, Reading, reading

JOBS: Final = Listing(
    name="jobs",
    row=JobRow,
    fields={
        "id": Field("stream_id", "uuid", is_unique=True),
        "tenant": Field("tenant_id", "text"),
        "state": Field("state", "text"),
        "kind": Field("kind", "text"),
        "queue": Field("queue", "text"),
        "attempt": Field("attempt", "integer"),
        "error_code": Field("error_code", "text"),
        "correlation": Field("correlation_id", "text"),
        "operation": Field("operation_id", "uuid"),
        "delivery": Field("delivery_id", "uuid"),
        # A worker is its host, or one life of it.
        "worker": Field("owner_host", "text"),
        "boot": Field("owner_boot", "uuid"),
        "created_at": Field("created_at", "timestamptz"),
        "age": Field("created_at", "timestamptz"),
        "scheduled_at": Field("run_at", "timestamptz", is_range=True),
    },
    conditions={"cause": Field("cause", "text")},
)

ORDER: Final = "order"
"""Beside the fields: the shop's own id of an order that a job was done for."""

# All that follows from a settlement has its correlation, and all that follows from
# the refund has the refund's: its job is the one that names the order.
_CORRELATIONS: Final = sql.SQL("""
SELECT found.correlation_id
  FROM unnest(%(tenants)s::text[]) AS tenant(id)
 CROSS JOIN unnest(%(orders)s::text[]) AS shop(id)
 CROSS JOIN LATERAL (
    (SELECT o.correlation_id
       FROM counterfoil.orders o
      WHERE o.tenant_id = tenant.id
        AND o.order_id = shop.id
     OFFSET 0)
     UNION ALL
    (SELECT j.correlation_id
       FROM {jobs} j
      WHERE j.order_id = shop.id
        AND j.tenant_id = tenant.id
     OFFSET 0)) found
""")
_ASKED: Final = {**JOBS.fields, ORDER: Field("order_id", "text")}
_DEFAULT_TENANT: Final = "default"
_NO_JOB: Final = UUID(int=0)
"""No stream has this id."""


@dataclass(frozen=True, slots=True)
class JobRecords:
    """Lists jobs, whatever became of them."""

    lend: Lend

    def __call__(
        self, asked: Asked, *, at_least: AtLeast | None = None
    ) -> Page[JobRow]:
        """Return one page; see `JOBS.fields`, and `ORDER`.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        check(asked, _ASKED, leading=JOBS.order[0][0], conditions=JOBS.conditions)
        with reading(self.lend, JOBS.name, at_least=at_least) as look:
            terms = tuple(
                it for term in asked.terms for it in _terms(look, term, asked)
            )
            return JOBS.read(look, msgspec.structs.replace(asked, terms=terms))

    @contextmanager
    def at_one_moment(self, terms: tuple[Term, ...]) -> Generator["JobsOfOneMoment"]:
        """Give all jobs that fit, as of one moment, which ends with the block.

        Raises:
            InvalidRequestError: names the member and what would be right.
        """
        asked = Asked(terms=terms, limit=MOST, is_oldest_first=True)
        check(asked, _ASKED, leading=JOBS.order[0][0], conditions=JOBS.conditions)
        with reading(self.lend, JOBS.name) as look:
            meant = tuple(it for term in terms for it in _terms(look, term, asked))
            yield JobsOfOneMoment(look, msgspec.structs.replace(asked, terms=meant))


@dataclass(frozen=True, slots=True)
class JobsOfOneMoment:
    """One list, page after page, in one snapshot: it blocks nobody."""

    look: Reading
    asked: Asked

    @property
    def position(self) -> int:
        """How far the list had followed the log."""
        return self.look.position

    def pages(self) -> Iterator[Sequence[UUID]]:
        """Yield the ids of jobs, oldest first, some at a time."""
        asked = self.asked
        while True:
            page = JOBS.read(self.look, asked)
            if page.items:
                yield [row.stream_id for row in page.items]
            if page.next is None:
                return
            asked = msgspec.structs.replace(asked, after=page.next)


def _terms(look: Reading, term: Term, asked: Asked) -> tuple[Term, ...]:
    """Return what a term means in the fields that rows have."""
    if not isinstance(term, Among) or term.field != ORDER:
        return (term,)
    named = [
        value
        for each in asked.terms
        if isinstance(each, Among) and each.field == "tenant"
        for value in each.values
    ]
    tenants = named or [_DEFAULT_TENANT]
    given = {"tenants": tenants, "orders": [str(value) for value in term.values]}
    with look.connection.cursor(row_factory=scalar_row) as cursor:
        query = _CORRELATIONS.format(jobs=look.table)
        found: list[str] = cursor.execute(query, given).fetchall()
    if not found:
        return (Among("id", (_NO_JOB,)),)
    stories = tuple(dict.fromkeys(found))
    if len(stories) > MOST_VALUES:
        detail = f"leads to more than {MOST_VALUES} correlations: name fewer orders"
        refuse(INVALID_FILTER, ORDER, detail)
    return Among("correlation", stories), Among("tenant", tuple(tenants))
