"""One event of every tag of bulk operations, as it was first written."""

from uuid import UUID

from domain.bulk import events as bulk
from domain.event import Actor, Event

PREVIEW = UUID("0195bd5e-5c4a-7000-8000-00000000000b")
RUN = UUID("0195bd5e-5c4a-7000-8000-00000000000c")

BULK: tuple[Event, ...] = (
    bulk.Requested(
        action="retry",
        parameters={},
        filter="state:discarded kind:report",
        items_per_second=20.0,
        most_items=100_000,
        most_unapproved=1_000,
        requested_by=Actor("operator", "olga"),
        role="administrator",
        reason="the panel is back",
        job=PREVIEW,
    ),
    bulk.Frozen(items=1_042, position=17_041),
    bulk.Previewed(verdicts={"would_retry": 1_040, "live_twin": 2}),
    bulk.Approved(approved_by=Actor("operator", "boris")),
    bulk.Started(job=RUN),
    bulk.Paused(code="operator"),
    bulk.Resumed(job=RUN),
    bulk.Cancelled(code="operator", done=3, refused=1, left=1_038),
    bulk.Finished(done=1_040, refused=2),
)
