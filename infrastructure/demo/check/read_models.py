"""Read models: what they answered is what the log, the panel and the people know.

The log is counted here anew, in plain SQL: none of the folds is asked whether it was
right, but that each gives what it has shown, row by row.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from infrastructure.demo.check.books import Ask, Books, attempt_of
from infrastructure.demo.diary import Waiting

_STARTED: Final = "fulfillment.attempt_started"

_HAPPENED: Final = """
SELECT type, count(*) FROM counterfoil.events
 WHERE type LIKE 'job.%' OR type LIKE 'fulfillment.%' OR type LIKE 'goods.%'
 GROUP BY type
"""
_DEAD: Final = """
SELECT born.data->>'kind', last.data->>'code', last.data->>'error_code'
  FROM (SELECT DISTINCT ON (e.stream_id) e.stream_id, e.type, e.data
          FROM counterfoil.events e
         WHERE e.type LIKE 'job.%'
         ORDER BY e.stream_id, e.version DESC) last
  JOIN counterfoil.events born ON born.stream_id = last.stream_id AND born.version = 1
 WHERE last.type = 'job.discarded' AND born.data->>'kind' <> 'fulfillment'
"""
_FAILED: Final = """
SELECT last.stream_id::text, last.data->>'code'
  FROM (SELECT DISTINCT ON (e.stream_id) e.stream_id, e.type, e.data
          FROM counterfoil.events e
         WHERE e.type LIKE 'fulfillment.%'
         ORDER BY e.stream_id, e.version DESC) last
 WHERE last.type = 'fulfillment.failed'
"""
_PAID: Final = """
SELECT paid.data->>'order_id', paid.position, ended.position
  FROM counterfoil.events paid
  LEFT JOIN LATERAL (
       SELECT min(e.position) AS position
         FROM counterfoil.events e
        WHERE e.stream_id = paid.stream_id
          AND e.type IN ('order.fulfilled', 'order.refunded')) ended ON true
 WHERE paid.type = 'order.paid'
"""
_PARKED: Final = """
SELECT operation.stream_id::text, parked.position, later.position
  FROM counterfoil.events parked
  JOIN counterfoil.events born ON born.stream_id = parked.stream_id AND born.version = 1
  JOIN counterfoil.events operation
    ON operation.stream_id = split_part(born.data->>'unique_key', ':', 2)::uuid
   AND operation.version = 1
  LEFT JOIN LATERAL (
       SELECT min(e.position) AS position
         FROM counterfoil.events e
        WHERE (e.stream_id = parked.stream_id AND e.version > parked.version)
              -- of an order that is over nobody need be told what it waits for
           OR (e.stream_id = (operation.data->>'order')::uuid
               AND e.type IN ('order.fulfilled', 'order.refunded'))) later ON true
 WHERE parked.type = 'job.parked' AND parked.data->>'gate' = 'panel'
   AND born.data->>'kind' = 'fulfillment'
   AND operation.data->>'operation' = 'create'
"""


def _attempts(books: Books) -> Iterator[str | None]:
    answers = books.diary.answers
    if answers is None:
        yield "nobody has asked how many attempts there were"
        return
    logged = {str(row[0]): int(str(row[1])) for row in books.rows(_HAPPENED)}
    yield from _same("times", answers.attempts, logged)
    booked = {attempt for each in books.requests if (attempt := attempt_of(each))}
    started = answers.attempts.get(_STARTED, 0)
    # A worker may die between its record of an attempt and its first request.
    if len(booked) > started:
        yield f"{started} attempts are told, the panel has seen {len(booked)}"


def _dead(books: Books) -> Iterator[str | None]:
    answers = books.diary.answers
    if answers is None:
        yield "nobody has asked who is dead"
        return
    failed = {str(row[0]): str(row[1]) for row in books.rows(_FAILED)}
    causes = Counter[str]()
    for kind, code, met in books.rows(_DEAD):
        causes[f"{kind}: {code}" + (f" ({met})" if met else "")] += 1
    for code in failed.values():  # of its job nobody need be told beside it
        causes[f"fulfillment: {code}"] += 1
    yield from _same("dead", answers.dead, causes)
    for operation, asked in books.diary.asked.items():
        if asked.is_hopeless:
            who = f"{asked.operation} of customer {asked.customer}"
            yield None if operation in failed else f"{who} is not dead"


def _waited(books: Books) -> Iterator[str | None]:
    window = books.diary.window
    if window is None:
        return
    told = window.waiting
    if told is None:
        yield "nobody has asked what waits for what"
        return
    orders = _among(books, _PAID, told)
    yield from _between("waits", set(told.orders), *orders)
    yield from _between("is held", set(told.held), *_among(books, _PARKED, told))
    for order, waits_for in told.orders.items():
        if waits_for == "nothing":
            yield f"{order} waits, and nobody knows for what"


def _among(books: Books, statement: str, told: Waiting) -> tuple[set[str], set[str]]:
    """Return what was so at both ends of the time of which was told, and at one."""
    surely, perhaps = set[str](), set[str]()
    for name, began, ended in books.rows(statement):
        since = int(str(began))
        until = None if ended is None else int(str(ended))
        if since <= told.last and (until is None or until > told.first):
            perhaps.add(str(name))
        if since <= told.first and (until is None or until > told.last):
            surely.add(str(name))
    return surely, perhaps


def _between(
    what: str, told: set[str], surely: set[str], perhaps: set[str]
) -> Iterator[str | None]:
    for name in sorted(surely | told):
        if name not in told:
            yield f"{name} {what}, and it is not told"
        else:
            yield None if name in perhaps else f"{name} {what}, it is told wrongly"


def _waits(books: Books) -> Iterator[str | None]:
    answers = books.diary.answers
    told: Mapping[str, str] = {} if answers is None else answers.waiting
    waiting = {str(row[0]) for row in books.rows(_PAID) if row[2] is None}
    for order in books.diary.sales:
        is_so = (order in waiting) == (order in told)
        yield None if is_so else f"{order}: it is told to wait for {told.get(order)}"


def _folds(books: Books) -> Iterator[str | None]:
    answers = books.diary.answers
    if answers is None:
        yield "nobody has compared them"
        return
    for name, each in answers.compared.items():
        if each.lag:
            yield f"{name} is {each.lag} positions behind the log"
        if each.differing:
            yield f"{name}: {each.differing} of {each.rows} rows differ"
        yield from [None] * each.rows


def _same(
    unit: str, told: Mapping[str, int], counted: Mapping[str, int]
) -> Iterator[str | None]:
    for name in sorted({*told, *counted}):
        n, of = told.get(name, 0), counted.get(name, 0)
        yield None if n == of else f"{name}: {n} {unit} are told, there were {of}"


QUESTIONS: Final[tuple[tuple[str, Ask], ...]] = (
    (
        "read models: what happened to jobs, operations and deliveries, how often",
        _attempts,
    ),
    ("read models: who is dead and why", _dead),
    ("read models: what waited for what while the gate was closed", _waited),
    ("read models: orders that wait for nothing any more", _waits),
    ("read models: rows that are as a fold of the whole log, and not behind", _folds),
)
