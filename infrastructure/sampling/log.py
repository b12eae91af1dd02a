"""How far those are who follow the log, what holds it back, and what waits to leave."""

from collections.abc import Iterator
from typing import Final

from infrastructure.sampling.gauge import Found, Look, Sampled
from projections.connections import Lend
from projections.queries.holders import FeedHolders
from projections.queries.outbox.lag import OutboxLag
from projections.queries.projections import ProjectionList

LAG_SECONDS: Final = Sampled(
    "projection_lag_seconds",
    "Age of the oldest event that it lacks.",
    ("projection",),
    merge=max,
)
LAG_EVENTS: Final = Sampled(
    "projection_lag_events",
    "Positions of the log that it has not read.",
    ("projection",),
    merge=max,
)
REBUILD: Final = Sampled(
    "projection_rebuild_progress_ratio",
    "Of the log that a rebuild has read; none: nothing is being rebuilt.",
    ("projection",),
    merge=min,
)


def projections(lend: Lend) -> Iterator[Found]:
    """Yield how far projections are behind, and how far rebuilds are."""
    for each in ProjectionList(lend)().projections:
        yield LAG_SECONDS, (each.name,), each.lag_seconds
        yield LAG_EVENTS, (each.name,), each.lag_positions
        if each.build is not None:
            yield REBUILD, (each.name,), each.build.ratio


HORIZON: Final = Sampled(
    "log_horizon_age_seconds",
    "Of the oldest open transaction that has written events; followers wait for it.",
)


def horizon(lend: Lend) -> Iterator[Found]:
    """Yield for how long the log has been held back."""
    ages = [each.age_seconds or 0.0 for each in FeedHolders(lend)().holders]
    yield HORIZON, (), max(ages, default=0.0)


PENDING: Final = Sampled("outbox_pending", "Messages that nobody has published.")
OLDEST_MESSAGE: Final = Sampled(
    "outbox_oldest_age_seconds", "Of the oldest message that nobody has published."
)


def outbox(lend: Lend) -> Iterator[Found]:
    """Yield what waits in the outbox."""
    backlog = OutboxLag(lend)()
    yield PENDING, (), backlog.pending_count
    yield OLDEST_MESSAGE, (), backlog.oldest_age_seconds or 0.0


LOOKS: Final = (
    Look(projections, (LAG_SECONDS, LAG_EVENTS, REBUILD)),
    Look(horizon, (HORIZON,)),
    Look(outbox, (PENDING, OLDEST_MESSAGE)),
)
