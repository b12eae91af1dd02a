"""The check at the demo's end: the panel's own book against our log.

Read with plain SQL and SQLite, and judged by rules that are written here anew: no
decider, fold or adapter of the product is asked whether the product was right.
"""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from infrastructure.postgres.database import Connection
from infrastructure.simulators.panel.book import (
    BookedRequest,
    BookedUser,
    open_book,
    requests,
    users,
)

REQUEST_ID: Final = re.compile(r"([0-9a-f-]{36})\.(\d+)\.(\d+)")
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One question that was put to both books."""

    question: str
    compared: int
    disagreements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Books:
    """Everything that is compared, read once."""

    connection: Connection
    requests: tuple[BookedRequest, ...]
    users: dict[str, list[BookedUser]]
    orders: int

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """Return the rows of one of this module's own statements."""
        return self.connection.execute(statement.encode()).fetchall()


def check(connection: Connection, book: Path, *, orders: int) -> list[Finding]:
    """Return what the two books say about each question; none may disagree."""
    with closing(open_book(book)) as opened:
        booked = tuple(requests(opened))
        named = _by_name(opened)
    books = Books(connection, booked, named, orders)
    return [_asked(question, ask, books) for question, ask in _QUESTIONS]


def _by_name(opened: sqlite3.Connection) -> dict[str, list[BookedUser]]:
    named: dict[str, list[BookedUser]] = defaultdict(list)
    for user in users(opened):
        named[user.username].append(user)
    return named


type Ask = Callable[[Books], Iterator[str | None]]
"""Yields None for each thing that agrees, a sentence for each that does not."""


def _asked(question: str, ask: Ask, books: Books) -> Finding:
    answers = list(ask(books))
    wrong = tuple(answer for answer in answers if answer is not None)
    return Finding(question, len(answers), wrong)


_ORDERS: Final = """
SELECT o.order_id, o.state, o.fulfilled_by, own.stream_id, own.state, own.covered_by,
       own.desired_version, own.entitlement_id, by_.state, by_.desired_version,
       by_.entitlement_id, own.code
  FROM counterfoil.orders o
  LEFT JOIN counterfoil.operations own ON own.order_stream_id = o.stream_id
  LEFT JOIN counterfoil.operations by_ ON by_.stream_id = o.fulfilled_by
"""


def _every_order(books: Books) -> Iterator[str | None]:
    rows = books.rows(_ORDERS)
    if len(rows) != books.orders:
        yield f"{len(rows)} of {books.orders} orders were settled"
    for row in rows:
        yield _order(row)


def _order(row: tuple[object, ...]) -> str | None:
    (
        order,
        state,
        by,
        own,
        own_state,
        _covered,
        version,
        mine,
        by_state,
        reach,
        theirs,
        why,
    ) = row
    if state == "fulfilled":
        is_right = (
            by_state == "succeeded"
            and mine == theirs
            and (own == by or own_state == "cancelled")
            and int(str(reach)) >= int(str(version))
        )
        return None if is_right else f"{order}: fulfilled by {by}, which did not"
    if own_state in {"failed", "cancelled"} and why:
        return None
    return f"{order}: {state}, its operation {own_state or 'does not exist'}"


# Settlements in the order in which they were decided, each with its own instant.
_CUSTOMERS: Final = """
SELECT e.username, e.customer_id, first.recorded_at,
       (first.data->'lines'->0->>'days')::int, o.state = 'fulfilled'
  FROM counterfoil.events d
  JOIN counterfoil.entitlements e ON e.stream_id = d.stream_id
  JOIN counterfoil.orders o ON o.stream_id = (d.data->>'order')::uuid
  JOIN counterfoil.events first ON first.stream_id = o.stream_id AND first.version = 1
 WHERE d.type = 'entitlement.desired_changed'
 ORDER BY d.stream_id, d.version
"""


@dataclass(slots=True)
class _Owed:
    customer: str
    end: datetime | None = None
    orders: int = 0
    is_delivered: bool = True

    def add(self, settled_at: datetime, days: int, *, fulfilled: bool) -> None:
        """Days always add, from the later of the present end and the settlement."""
        start = settled_at if self.end is None else max(self.end, settled_at)
        self.end = start + timedelta(days=days)
        self.orders += 1
        self.is_delivered &= fulfilled


def _every_customer(books: Books) -> Iterator[str | None]:
    owed: dict[str, _Owed] = {}
    for name, customer, settled_at, days, fulfilled in books.rows(_CUSTOMERS):
        if not isinstance(settled_at, datetime):
            yield f"customer {customer}: an order without an instant"
            continue
        entry = owed.setdefault(str(name), _Owed(str(customer)))
        entry.add(settled_at, int(str(days)), fulfilled=bool(fulfilled))
    if set(books.users) != set(owed):
        yield f"{len(owed)} customers have {len(books.users)} panel users"
    decided = sum(entry.orders for entry in owed.values())
    if decided != books.orders:
        yield f"{decided} of {books.orders} orders have changed what is owed"
    for name, entry in owed.items():
        yield _customer(books.users.get(name, []), entry)


def _customer(found: Sequence[BookedUser], owed: _Owed) -> str | None:
    if not owed.is_delivered:
        return None  # a dead letter: its order is told by the first question
    if len(found) != 1 or owed.end is None:
        return f"customer {owed.customer}: {len(found)} panel users"
    user = found[0]
    wanted = ("ACTIVE", _in_ms(owed.end), 0, 0, ())
    shown = (
        user.status,
        user.expire_at,
        user.traffic_limit_bytes,
        user.hwid_device_limit,
        user.squads,
    )
    return (
        None if shown == wanted else f"customer {owed.customer}: {shown}, not {wanted}"
    )


def _in_ms(instant: datetime) -> str:
    utc = instant.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def _every_request_says_who(books: Books) -> Iterator[str | None]:
    for request in books.requests:
        named = REQUEST_ID.fullmatch(request.request_id or "")
        yield (
            None
            if named
            else f"request {request.seq}: X-Request-ID {request.request_id}"
        )


_ATTEMPTS: Final = """
SELECT stream_id::text, (data->>'attempt')::int
  FROM counterfoil.events
 WHERE type = 'fulfillment.attempt_started'
"""


def _attempts(books: Books) -> set[tuple[str, int]]:
    return {(str(row[0]), int(str(row[1]))) for row in books.rows(_ATTEMPTS)}


def _attempt_of(request: BookedRequest) -> tuple[str, int] | None:
    named = REQUEST_ID.fullmatch(request.request_id or "")
    return None if named is None else (named[1], int(named[2]))


def _every_write_was_recorded_before(books: Books) -> Iterator[str | None]:
    logged = _attempts(books)
    for request in books.requests:
        if request.applied:
            known = _attempt_of(request) in logged
            yield (
                None if known else f"request {request.seq}: no such attempt in the log"
            )


def _no_attempt_wrote_twice(books: Books) -> Iterator[str | None]:
    calls = Counter(
        (_attempt_of(request), request.method, request.path)
        for request in books.requests
        if request.applied
    )
    for call, times in calls.items():
        yield None if times == 1 else f"{call}: applied {times} times"


_SUCCEEDED: Final = """
SELECT stream_id::text FROM counterfoil.events WHERE type = 'fulfillment.succeeded'
"""


def _every_success_was_applied(books: Books) -> Iterator[str | None]:
    wrote = {
        attempt[0]
        for request in books.requests
        if request.applied and (attempt := _attempt_of(request)) is not None
    }
    for row in books.rows(_SUCCEEDED):
        yield None if row[0] in wrote else f"operation {row[0]}: nothing was applied"


def _no_attempt_is_unknown(books: Books) -> Iterator[str | None]:
    logged = _attempts(books)
    booked = {attempt for each in books.requests if (attempt := _attempt_of(each))}
    for attempt in booked:
        yield None if attempt in logged else f"attempt {attempt}: not in the log"
    yield (
        None
        if len(booked) <= len(logged)
        else f"{len(booked)} attempts in the book, {len(logged)} in the log"
    )


_DEAD_WITHOUT_REASON: Final = """
SELECT stream_id::text, code FROM counterfoil.jobs_dead
"""


def _every_death_has_a_reason(books: Books) -> Iterator[str | None]:
    for row in books.rows(_DEAD_WITHOUT_REASON):
        yield None if row[1] else f"job {row[0]}: dead without a reason"


_QUESTIONS: Final[tuple[tuple[str, Ask], ...]] = (
    ("orders fulfilled by the operation that covers them, or dead with a reason",
     _every_order),
    ("customers: one panel user, status, expiry to the ms, limits", _every_customer),
    ("requests that name operation, attempt and call", _every_request_says_who),
    ("applied writes that belong to a recorded attempt",
     _every_write_was_recorded_before),
    ("calls of an attempt applied at most once", _no_attempt_wrote_twice),
    ("succeeded operations that applied something", _every_success_was_applied),
    ("attempts in the book that are in the log", _no_attempt_is_unknown),
    ("dead letters with a reason", _every_death_has_a_reason),
)  # fmt: skip


def first_few(finding: Finding) -> tuple[str, ...]:
    """Return the first disagreements of a finding, and how many more there are."""
    shown = finding.disagreements[:_SHOWN]
    more = len(finding.disagreements) - len(shown)
    return (*shown, f"… and {more} more") if more > 0 else shown
