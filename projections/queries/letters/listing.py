"""Dead letters one by one, the last that died first; and those that somebody ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from msgspec.structs import replace
from psycopg import sql
from psycopg.rows import tuple_row

from domain.event import Instant
from projections.connections import Lend
from projections.queries.correlations import correlations_of
from projections.queries.letters.filter import LetterFilter
from projections.queries.listing import Listing
from projections.queries.page import DEFAULT, Edge, Page
from projections.queries.terms import Among, Asked, Field, Term
from projections.read_models.dead_letters import DELIVERY
from projections.reading import AtLeast, Reading, reading

_NAME: Final = "dead_letters"

DEFAULT_TENANT: Final = "default"
"""Whose order it is, unless something else is said."""

# Looked up for the rows of one page, by their keys.
_ORDERS: Final = """
SELECT o.tenant_id, o.stream_id, o.order_id, o.customer_id
  FROM unnest(%(ids)s::uuid[]) i(id)
  JOIN counterfoil.orders o ON o.stream_id = i.id
"""
_TWINS: Final = """
SELECT d.tenant_id, d.stream_id, d.code, j.stream_id
  FROM unnest(%(ids)s::uuid[]) i(id)
  JOIN counterfoil.jobs_dead d ON d.stream_id = i.id
  LEFT JOIN counterfoil.jobs j
         ON j.tenant_id = d.tenant_id
        AND j.unique_key = d.unique_key
"""


_DELIVERIES: Final = """
SELECT d.tenant_id, d.stream_id, d.state, d.line, d.provider
  FROM unnest(%(ids)s::uuid[]) i(id)
  JOIN counterfoil.deliveries d ON d.stream_id = i.id
"""


class LetterLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One letter, as its row tells it."""

    stream_id: UUID
    """The job, or the record that a job served."""
    tenant_id: str
    stream_kind: str
    """`job`, `operation` or `delivery`."""
    kind: str
    """The job's; of a record, that of the job that served it."""
    queue: str
    operation: str | None
    job_id: UUID | None
    """The job that died; of a review, the one that opened it."""
    order_stream_id: UUID | None
    entitlement_id: UUID | None
    correlation_id: str
    code: str
    """Why it is dead."""
    error_code: str | None
    """What its last attempt met, where the code does not say it."""
    attempt: int
    """Attempts spent; of goods, decisions to buy."""
    died_at: Instant
    acknowledged_at: Instant | None
    """When somebody said that he sees to it, the last time."""
    acknowledged_by: str | None


class EndedLine(LetterLine, frozen=True, kw_only=True, rename="camel"):
    """One letter that somebody has ended."""

    ended_at: Instant
    ended_how: str
    """`retried`, `cancelled`, `decided`, `delivered`, `refunded` or `dismissed`."""
    ended_by_type: str
    ended_by: str


class Letter(LetterLine, frozen=True, kw_only=True, rename="camel"):
    """One letter, and what stands beside it now."""

    order_id: str | None = None
    """The shop's."""
    customer_id: str | None = None
    job_code: str | None = None
    """Why the job is dead that carried an operation."""
    twin: UUID | None = None
    """A live job with the same unique key: while it lives, no retry is possible."""
    delivery: "Delivery | None" = None
    """Where the delivery stands, if it is one's letter."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is to be known of a delivery beside its letter."""

    state: str
    """`needs_review` or `failed`; whatever else, the letter is older than that."""
    line: int
    provider: str


_COLUMNS: Final[dict[str, Field]] = {
    "tenant": Field("tenant_id", "text"),
    "died_at": Field("died_at", "timestamptz"),
    "kind": Field("kind", "text"),
    "code": Field("code", "text"),
    "error_code": Field("error_code", "text"),
    "queue": Field("queue", "text"),
    "correlation": Field("correlation_id", "text"),
}

OPEN: Final = Listing(
    name=_NAME,
    row=LetterLine,
    fields=_COLUMNS,
    order=(("died_at", datetime), ("stream_id", UUID)),
    pairs=(("kind", "code"),),
    where=sql.SQL("state = 'open'"),
)

ENDED: Final = Listing(
    name=_NAME,
    row=EndedLine,
    fields={
        "tenant": Field("tenant_id", "text"),
        "ended_at": Field("ended_at", "timestamptz"),
    },
    order=(("ended_at", datetime), ("stream_id", UUID)),
    where=sql.SQL("state = 'ended'"),
)


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Lists what nothing runs again without a person."""

    lend: Lend

    def __call__(
        self,
        wanted: LetterFilter,
        *,
        after: Edge | None = None,
        limit: int = DEFAULT,
        is_counted: bool = False,
        at_least: AtLeast | None = None,
    ) -> Page[Letter] | None:
        """Return one page of letters, or None when there is no such order.

        Raises:
            InvalidRequestError: names the member and what would be right.
        """
        with reading(self.lend, _NAME, at_least=at_least) as look:
            terms = tuple(wanted.terms())
            if wanted.order is not None:
                of_order = _of_order(look, wanted)
                if of_order is None:
                    return None
                terms += of_order
            page = OPEN.read(
                look,
                Asked(terms=terms, after=after, limit=limit, is_counted=is_counted),
            )
            letters = beside(look.connection, page.items)
        return Page(
            items=letters,
            next=page.next,
            prev=page.prev,
            limit=page.limit,
            count=page.count,
            as_of=page.as_of,
        )


def _of_order(look: Reading, wanted: LetterFilter) -> tuple[Term, ...] | None:
    """Return the terms for all that the shop's order led to; None: no such order."""
    tenant_id = wanted.tenant_id or DEFAULT_TENANT
    found = correlations_of(look.connection, tenant_id, wanted.order or "")
    if not found:
        return None
    return Among("correlation", found), Among("tenant", (tenant_id,))


@dataclass(frozen=True, slots=True)
class EndedLetters:
    """Lists what a person has ended, and who it was."""

    lend: Lend

    def __call__(
        self, asked: Asked, *, at_least: AtLeast | None = None
    ) -> Page[EndedLine]:
        """Return one page of letters that are none any more.

        Raises:
            InvalidRequestError: names the member and what would be right.
        """
        with reading(self.lend, _NAME, at_least=at_least) as look:
            return ENDED.read(look, asked)


type _Found = dict[tuple[str, UUID], tuple[Any, ...]]
"""What lies beside streams, by tenant and stream: a key may name another tenant's."""


def beside(
    connection: psycopg.Connection[Any], lines: tuple[LetterLine, ...]
) -> tuple[Letter, ...]:
    """Return lines with what their orders and jobs say in the same snapshot."""
    orders = _found(connection, _ORDERS, [line.order_stream_id for line in lines])
    jobs = _found(connection, _TWINS, [line.job_id for line in lines])
    ids = [line.stream_id for line in lines if line.stream_kind == DELIVERY]
    goods = _found(connection, _DELIVERIES, ids)
    return tuple(_letter(line, orders, jobs, goods) for line in lines)


def _found(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    ids: Iterable[UUID | None],
) -> _Found:
    asked = [id_ for id_ in ids if id_ is not None]
    if not asked:
        return {}
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(statement, {"ids": asked}).fetchall()
    return {(tenant, id_): tuple(beside) for tenant, id_, *beside in rows}


def _letter(line: LetterLine, orders: _Found, jobs: _Found, goods: _Found) -> Letter:
    nothing = (None, None)
    letter = Letter(**msgspec.structs.asdict(line))
    if line.order_stream_id is not None:
        order = orders.get((line.tenant_id, line.order_stream_id), nothing)
        letter = replace(letter, order_id=order[0], customer_id=order[1])
    if line.job_id is not None:
        code, twin = jobs.get((line.tenant_id, line.job_id), nothing)
        letter = replace(letter, job_code=code, twin=twin)
    delivery = goods.get((line.tenant_id, line.stream_id))
    if delivery is not None:
        state, number, provider = delivery
        beside = Delivery(state=state, line=number, provider=provider)
        letter = replace(letter, delivery=beside)
    return letter
