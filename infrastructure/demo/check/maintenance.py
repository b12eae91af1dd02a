"""The window: nothing begins at the panel, what is held costs nothing and is delivered.

The gate is read after a job is claimed.  So whatever was claimed after the gate had
closed for certain has begun nothing until it was opened.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from infrastructure.demo.check.books import Ask, Books, attempt_of

MOST_EVENTS: Final = 4
"""Of a held job and its operation: claimed, parked (both), unparked."""
_SPREAD: Final = timedelta(minutes=1)

# Every claim of a job that asks the panel, and the attempt that it began, if any.
_CLAIMS: Final = """
SELECT claimed.position, begun.stream_id::text, (begun.data->>'attempt')::int,
       begun.position
  FROM counterfoil.events claimed
  JOIN counterfoil.events born
    ON born.stream_id = claimed.stream_id AND born.type = 'job.enqueued'
  LEFT JOIN counterfoil.events begun
    ON begun.type = 'fulfillment.attempt_started'
   AND begun.meta->'causation'->>'job' = claimed.stream_id::text
   AND (begun.meta->'causation'->>'token')::int = claimed.version
 WHERE claimed.type = 'job.claimed' AND born.data->>'kind' = 'fulfillment'
"""
_WINDOWS: Final = """
SELECT type, meta->'actor'->>'type', meta->'actor'->>'id', meta->>'reason',
       data->>'scope', data->>'notice_ru', data->>'notice_en'
  FROM counterfoil.events
 WHERE type LIKE 'maintenance.%'
 ORDER BY position
"""
_SETTLED: Final = """
SELECT position, (o.state IN ('fulfilled', 'refunded')), o.order_id
  FROM counterfoil.events paid
  JOIN counterfoil.orders o ON o.stream_id = paid.stream_id
 WHERE paid.version = 1
"""
# A job's own events, and what its operation says of maintenance in the same breath.
_HELD: Final = """
SELECT held.stream_id::text, ev.type, ev.data->>'attempt', ev.recorded_at,
       ev.data->>'run_at', own.cause
  FROM (SELECT DISTINCT stream_id
          FROM counterfoil.events
         WHERE type = 'job.parked' AND data->>'gate' IS NOT NULL) held
  JOIN counterfoil.events ev ON ev.stream_id = held.stream_id
  LEFT JOIN LATERAL (
       SELECT o.data->>'cause' AS cause
         FROM counterfoil.events o
        WHERE o.type = 'fulfillment.parked'
          AND o.meta->>'commit_id' = ev.meta->>'commit_id'
          AND o.meta->'causation'->>'job' = held.stream_id::text) own
    ON ev.type = 'job.parked'
 ORDER BY held.stream_id, ev.version
"""


def _nothing_began(books: Books) -> Iterator[str | None]:
    window = books.diary.window
    if window is None or window.last is None:
        return
    first, last = window.first, window.last
    old = set[tuple[str, int]]()
    for claimed, operation, attempt, begun in books.rows(_CLAIMS):
        key = (str(operation), int(str(attempt or 0)))
        if int(str(claimed)) <= first.position:
            old.add(key)
        elif int(str(claimed)) <= last.position:
            is_right = begun is None or int(str(begun)) > last.position
            told = f"attempt {key}: claimed and begun while the gate was closed"
            yield None if is_right else told
    for request in books.requests:
        if request.request_id in books.diary.tried or request.began_ns is None:
            continue
        if first.at_ns < request.began_ns <= last.at_ns:
            is_right = attempt_of(request) in old
            told = f"request {request.seq}: sent while the gate was closed"
            yield None if is_right else told


def _settled_meanwhile(books: Books) -> Iterator[str | None]:
    window = books.diary.window
    if window is None or window.last is None:
        yield "there was no window"
        return
    seen = 0
    for position, is_over, order in books.rows(_SETTLED):
        if window.first.position < int(str(position)) <= window.last.position:
            seen += 1
            yield None if is_over else f"{order}: settled in the window, and not over"
    if seen < window.settled:
        yield f"{seen} of {window.settled} orders were settled in the window"


@dataclass(frozen=True, slots=True)
class _Event:
    type: str
    attempt: str
    at: datetime
    run_at: str | None
    cause: str | None


def _held_for_nothing(books: Books) -> Iterator[str | None]:
    jobs: dict[str, list[_Event]] = defaultdict(list)
    for job, kind, attempt, at, run_at, cause in books.rows(_HELD):
        if isinstance(at, datetime):
            told = [None if each is None else str(each) for each in (run_at, cause)]
            jobs[str(job)].append(_Event(str(kind), str(attempt), at, *told))
    window = books.diary.window
    least = 1 if window is None else max(window.held, 1)
    if len(jobs) < least:
        yield f"{len(jobs)} of {least} held jobs are in the log"
    for job, events in jobs.items():
        wrong = _held(events)
        yield None if wrong is None else f"job {job}: {wrong}"


def _held(events: Sequence[_Event]) -> str | None:
    """Return what is wrong with one held job."""
    kinds = [event.type for event in events]
    at_gate = [
        place
        for place, event in enumerate(events)
        if event.type == "job.parked" and event.cause == "maintenance_active"
    ]
    if len(at_gate) != 1:
        return f"parked {len(at_gate)} times, together with its operation"
    parked = at_gate[0]
    claims = [place for place, kind in enumerate(kinds) if kind == "job.claimed"]
    before = [place for place in claims if place < parked]
    after = [place for place in claims if place > parked]
    if not before or not after:
        return f"never claimed before, or after: {kinds}"
    episode = events[before[-1] : after[0]]
    told = [event.type for event in episode]
    # Its operation's own word of the parking is the fourth.
    if told != ["job.claimed", "job.parked", "job.unparked"][: MOST_EVENTS - 1]:
        return f"has more to tell than that it was held: {told}"
    unparked = episode[-1]
    run_at = datetime.fromisoformat(unparked.run_at or "")
    if not unparked.at - _SPREAD <= run_at <= unparked.at + _SPREAD:
        return f"unparked at {unparked.at}, but due at {run_at}"
    spent = (events[before[-1]].attempt, events[after[0]].attempt)
    return None if spent[0] == spent[1] else f"its attempt went from {spent}"


def _on_record(books: Books) -> Iterator[str | None]:
    window = books.diary.window
    if window is None:
        return
    who = ("operator", window.operator)
    notices = ("panel", window.notice_ru, window.notice_en)
    wanted = [
        ("maintenance.opened", *who, window.reason, *notices),
        ("maintenance.closed", *who, window.over, None, None, None),
    ]
    found = books.rows(_WINDOWS)
    for index, each in enumerate(wanted):
        told = found[index] if index < len(found) else "nothing"
        yield None if told == each else f"{each}: on record is {told}"
    for more in found[len(wanted) :]:
        yield f"nobody opened or closed: {more}"


QUESTIONS: Final[tuple[tuple[str, Ask], ...]] = (
    ("maintenance on record: opened and closed, by whom, why, in two languages",
     _on_record),
    ("claims in the window that began nothing, requests that had begun before",
     _nothing_began),
    ("orders settled while the gate was closed, and delivered after",
     _settled_meanwhile),
    (f"jobs held by the gate: no attempt spent, at most {MOST_EVENTS} events",
     _held_for_nothing),
)  # fmt: skip
