"""Requests: each belongs to an attempt that is on record, and none works twice."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from infrastructure.demo.check.books import Ask, Books, attempt_of

_ATTEMPTS: Final = """
SELECT stream_id::text, (data->>'attempt')::int
  FROM counterfoil.events
 WHERE type = 'fulfillment.attempt_started'
"""
_ATTEMPTS_OF: Final = """
SELECT begun.stream_id::text, (begun.data->>'attempt')::int, begun.position,
       born.data->>'entitlement'
  FROM counterfoil.events begun
  JOIN counterfoil.events born ON born.stream_id = begun.stream_id AND born.version = 1
 WHERE begun.type = 'fulfillment.attempt_started'
"""
_ENDED: Final = """
SELECT ended.stream_id::text, ended.position, born.position, born.data->>'entitlement',
       born.data->>'operation', ended.type = 'fulfillment.succeeded'
  FROM counterfoil.events ended
  JOIN counterfoil.events born ON born.stream_id = ended.stream_id AND born.version = 1
 WHERE ended.type IN ('fulfillment.succeeded', 'fulfillment.cancelled')
"""
_LETS_IN: Final = frozenset({"enable", "resume", "create"})
_TAKES_BACK: Final = {
    "disable": _LETS_IN,
    "pause": _LETS_IN,
    "enable": frozenset({"disable", "pause"}),
}
"""What leaves nothing to write of it: a resume moves the end, and is written itself."""
_SO_ALREADY: Final = frozenset({"A029", "A030"})
"""The panel says that a user is disabled, or enabled, already."""


def _every_request_says_who(books: Books) -> Iterator[str | None]:
    for request in books.requests:
        if request.request_id in books.diary.tried:
            continue  # somebody at the panel itself: he is asked about elsewhere
        named = attempt_of(request)
        told = f"request {request.seq}: X-Request-ID {request.request_id}"
        yield None if named else told


def _attempts(books: Books) -> set[tuple[str, int]]:
    return {(str(row[0]), int(str(row[1]))) for row in books.rows(_ATTEMPTS)}


def _every_write_was_recorded_before(books: Books) -> Iterator[str | None]:
    logged = _attempts(books)
    for request in books.requests:
        if request.applied and request.request_id not in books.diary.tried:
            known = attempt_of(request) in logged
            told = f"request {request.seq}: no such attempt in the log"
            yield None if known else told


def _no_attempt_wrote_twice(books: Books) -> Iterator[str | None]:
    calls = Counter(
        (attempt_of(request) or request.request_id, request.method, request.path)
        for request in books.requests
        if request.applied
    )
    for call, times in calls.items():
        yield None if times == 1 else f"{call}: applied {times} times"


def _every_success_was_applied(books: Books) -> Iterator[str | None]:
    wrote = {
        attempt_of(request)
        for request in books.requests
        if request.applied or request.error_code in _SO_ALREADY
    }
    asked = {attempt_of(request) for request in books.requests}
    operations, looked = set[str](), set[str]()
    written: dict[object, list[int]] = defaultdict(list)
    for operation, attempt, position, entitlement in books.rows(_ATTEMPTS_OF):
        if (operation, attempt) in asked:
            looked.add(str(operation))
        if (operation, attempt) in wrote:
            operations.add(str(operation))
            written[entitlement].append(int(str(position)))
    ended = list(books.rows(_ENDED))
    lives: dict[object, dict[_Life, str]] = defaultdict(dict)
    for _, end, born, entitlement, what, _ in ended:
        lives[entitlement][int(str(born)), int(str(end))] = str(what)
    for operation, end, born, entitlement, _, has_succeeded in ended:
        if not has_succeeded:
            continue
        # Whoever asks the panel brings all that is owed by then: what was asked for
        # meanwhile finds it done; and of what takes each other back, nothing is left.
        life = int(str(born)), int(str(end))
        is_done = (
            operation in operations
            or any(life[0] < position < life[1] for position in written[entitlement])
            or (operation in looked and _has_rival(lives[entitlement], life))
        )
        yield None if is_done else f"operation {operation}: nothing was applied"


type _Life = tuple[int, int]
"""Positions at which an operation was asked for, and at which it had ended."""


def _has_rival(lives: dict[_Life, str], life: _Life) -> bool:
    """Whether what takes it back was asked for before it had ended."""
    rivals = _TAKES_BACK.get(lives[life], frozenset())
    return any(
        asked in rivals and born < life[1] and life[0] < end
        for (born, end), asked in lives.items()
    )


def _no_attempt_is_unknown(books: Books) -> Iterator[str | None]:
    logged = _attempts(books)
    booked = {attempt for each in books.requests if (attempt := attempt_of(each))}
    for attempt in booked:
        yield None if attempt in logged else f"attempt {attempt}: not in the log"
    yield (
        None
        if len(booked) <= len(logged)
        else f"{len(booked)} attempts in the book, {len(logged)} in the log"
    )


QUESTIONS: Final[tuple[tuple[str, Ask], ...]] = (
    ("requests that name operation, attempt and call", _every_request_says_who),
    ("applied writes that belong to a recorded attempt",
     _every_write_was_recorded_before),
    ("calls of an attempt applied at most once", _no_attempt_wrote_twice),
    ("succeeded operations that applied something, or found it done",
     _every_success_was_applied),
    ("attempts in the book that are in the log", _no_attempt_is_unknown),
)  # fmt: skip
