"""What was recorded over time, and what of that still waits.

A point stands for the messages that were recorded in it, however late they were
published; so what waits now can be seen as what has piled up, and since when.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from domain.errors import InvalidRequestError
from domain.event import Instant
from domain.outbox import TOPICS
from projections.connections import Lend
from projections.queries.outbox.counted import BEGINNING, Counts, Stretch, count
from projections.queries.terms import check_tenant
from projections.read_models.outbox_lag import DAY, HOUR, MINUTE, SPANS
from projections.reading import AsOf, AtLeast, Reading, reading

NAME: Final = "outbox_lag"

STEPS: Final = {
    "1m": timedelta(minutes=1),
    "5m": timedelta(minutes=5),
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "1d": timedelta(days=1),
}
MOST_POINTS: Final = 500
"""Of each topic: a line is not finer on any screen."""
_BY_MINUTES: Final = timedelta(days=2)
"""Steps of less than an hour are added up from minutes: of so many at most."""
_CHOSEN_POINTS: Final = 100

_INVALID: Final = "invalid_filter"

# By block first: a message that is gone and one that waits are of one block or not.
_POINTS: Final = """
SELECT b.topic, date_bin(%(step)s, b.begins_at, %(origin)s) AS point,
       sum(b.recorded)::bigint, greatest(sum(b.recorded) - sum(b.gone), 0)::bigint,
       bool_or(b.gone > 0 AND b.recorded > b.gone),
       min(b.first_at) FILTER (WHERE b.gone = 0), max(b.longest_wait)
  FROM (SELECT c.topic, c.begins_at, sum(c.recorded) AS recorded, sum(c.gone) AS gone,
               min(c.first_at) AS first_at, max(c.longest_wait) AS longest_wait
          FROM ({counted}) c
         GROUP BY c.topic, c.begins_at, c.block) b
 GROUP BY 1, 2
 ORDER BY 2, 1
"""


class SeriesAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Which series is wanted."""

    since: timedelta = timedelta(hours=1)
    """How long ago it begins."""
    step: str | None = None
    """One of `STEPS`; None: one that gives about a hundred points."""
    topic: str | None = None
    tenant_id: str | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The messages of one topic that were recorded in one step."""

    topic: str
    begins_at: Instant
    recorded_count: int
    pending_count: int
    """Of those, how many wait now."""
    longest_wait_seconds: float
    """Of those: until it was published, or until now."""


class Series(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Points by time, then topic; where nothing was recorded there is none."""

    step: str
    since: Instant
    points: tuple[Point, ...]
    relation: str
    """`eq`; `gte`: at least so many, for the read model is far behind."""
    as_of: AsOf


def topics_of(topic: str | None) -> tuple[str, ...]:
    """Return the topics that are meant: one, or all.

    Raises:
        InvalidRequestError: there is no such topic.
    """
    if topic is None:
        return tuple(sorted(TOPICS))
    if topic not in TOPICS:
        rule = f"one of {', '.join(sorted(TOPICS))}"
        raise InvalidRequestError(_INVALID, "topic", rule)
    return (topic,)


def read_series(lend: Lend, asked: SeriesAsked, at_least: AtLeast | None) -> Series:
    """See `OutboxLag.series`."""
    topics = topics_of(asked.topic)
    check_tenant(asked.tenant_id)
    step = _step(asked)
    with reading(lend, NAME, at_least=at_least) as look:
        since = _floored(look.now - asked.since, STEPS[step])
        counts = count(look, asked.tenant_id)
        span = {"1d": DAY, "1h": HOUR}.get(step, MINUTE)
        rows = counts.rows(
            _POINTS,
            Stretch(span, topics, since),
            step=STEPS[step],
            origin=BEGINNING,
        )
        points = tuple(_point(counts, look, STEPS[step], _Row(*row)) for row in rows)
    return Series(
        step=step,
        since=since,
        points=points,
        relation="gte" if counts.is_short else "eq",
        as_of=look.as_of,
    )


def _step(asked: SeriesAsked) -> str:
    """Return the step that is meant.

    Raises:
        InvalidRequestError: no such step, or more points than there may be.
    """
    if asked.since <= timedelta():
        raise InvalidRequestError(_INVALID, "since", "how long ago it begins: 24h")
    if asked.step is None:
        fits = [name for name, step in STEPS.items() if _fits(asked.since, step)]
        fine = [n for n in fits if asked.since / STEPS[n] <= _CHOSEN_POINTS]
        if fits:
            return (fine or fits[-1:])[0]
    elif asked.step not in STEPS:
        raise InvalidRequestError(_INVALID, "step", f"one of {', '.join(STEPS)}")
    elif _fits(asked.since, STEPS[asked.step]):
        return asked.step
    rule = f"at most {MOST_POINTS} steps ago, less than an hour each two days"
    raise InvalidRequestError(_INVALID, "since", rule)


def _fits(since: timedelta, step: timedelta) -> bool:
    return since / step <= MOST_POINTS and (step >= SPANS[HOUR] or since <= _BY_MINUTES)


def _floored(instant: datetime, step: timedelta) -> datetime:
    """Return the beginning of the step that the instant is in."""
    return instant.astimezone(UTC) - (instant - BEGINNING) % step


class _Row(NamedTuple):
    topic: str
    begins_at: datetime
    recorded: int
    pending: int
    is_mixed: bool
    """Whether of one block some are gone and some wait."""
    untouched_at: datetime | None
    """When the first message of the blocks of which all wait was recorded."""
    longest_wait: timedelta | None


def _point(counts: Counts, look: Reading, step: timedelta, row: _Row) -> Point:
    waits = [row.longest_wait] if row.longest_wait is not None else []
    if row.pending > 0:
        oldest = row.untouched_at
        if row.is_mixed:
            oldest = counts.oldest(row.topic, row.begins_at, row.begins_at + step)
        waits += [look.now - oldest] if oldest is not None else []
    longest = max(waits, default=timedelta())
    return Point(
        topic=row.topic,
        begins_at=row.begins_at,
        recorded_count=row.recorded,
        pending_count=row.pending,
        longest_wait_seconds=max(longest.total_seconds(), 0.0),
    )
