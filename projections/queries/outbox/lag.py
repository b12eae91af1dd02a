"""What waits to be published now, by topic."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from domain.event import Instant
from projections.connections import Lend
from projections.queries.outbox.counted import Counts, count, ever
from projections.queries.outbox.series import (
    NAME,
    Series,
    SeriesAsked,
    read_series,
    topics_of,
)
from projections.queries.terms import check_tenant
from projections.reading import AsOf, AtLeast, reading

_NOW: Final = """
SELECT c.topic, sum(c.recorded)::bigint, sum(c.gone)::bigint, max(c.last_at)
  FROM ({counted}) c
 GROUP BY c.topic
"""


class TopicLag(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One topic."""

    topic: str
    pending_count: int
    oldest_age_seconds: float | None
    """Since the oldest that waits was recorded; None: nothing waits."""
    recorded_count: int
    """Ever; what does not wait was published, or deleted."""
    last_recorded_at: Instant | None


class Backlog(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What waits, in all and by topic."""

    pending_count: int
    oldest_age_seconds: float | None
    relation: str
    """`eq`; `gte`: at least so many, for the read model is far behind."""
    topics: tuple[TopicLag, ...]
    as_of: AsOf


@dataclass(frozen=True, slots=True)
class OutboxLag:
    """Tells what waits to be published."""

    lend: Lend

    def __call__(
        self,
        topic: str | None = None,
        tenant_id: str | None = None,
        *,
        at_least: AtLeast | None = None,
    ) -> Backlog:
        """Return what waits now; of one topic alone, if one is named.

        Raises:
            InvalidRequestError: there is no such topic, or tenant.
        """
        topics = topics_of(topic)
        check_tenant(tenant_id)
        with reading(self.lend, NAME, at_least=at_least) as look:
            counts = count(look, tenant_id)
            told = {row[0]: row[1:] for row in counts.rows(_NOW, ever(topics))}
            lags = tuple(
                _lag(counts, each, *told.get(each, (0, 0, None))) for each in topics
            )
        ages = [each.oldest_age_seconds for each in lags]
        return Backlog(
            pending_count=sum(each.pending_count for each in lags),
            oldest_age_seconds=max(
                (age for age in ages if age is not None), default=None
            ),
            relation="gte" if counts.is_short else "eq",
            topics=lags,
            as_of=look.as_of,
        )

    def series(self, asked: SeriesAsked, *, at_least: AtLeast | None = None) -> Series:
        """Return what was recorded over time, and what of that still waits.

        Raises:
            InvalidRequestError: names the member, and what would be right.
        """
        return read_series(self.lend, asked, at_least)


def _lag(
    counts: Counts, topic: str, recorded: int, gone: int, last_at: datetime | None
) -> TopicLag:
    oldest = counts.oldest(topic) if recorded > gone else None
    age = timedelta() if oldest is None else counts.reading.now - oldest
    return TopicLag(
        topic=topic,
        pending_count=max(recorded - gone, 0),
        oldest_age_seconds=None if oldest is None else max(age.total_seconds(), 0.0),
        recorded_count=recorded,
        last_recorded_at=last_at,
    )
