"""Streams of work and goods with any facts in any order, as the log tells them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
from hypothesis import strategies as st

from domain.event import Actor, Causation, Event, Meta
from domain.fulfillment import events as operations
from domain.goods import events as goods
from domain.jobs import events as jobs
from domain.recorded import RecordedEvent
from infrastructure.postgres.codec import EVENT_CLASSES
from tests.log.door.generated import instances
from tests.projections.book.told import Told

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ABOUT = UUID("01a229de-243f-785e-ac45-5c0271bf6896")

METAS = st.sampled_from(
    [
        Meta(
            actor=Actor(type_, id_),
            correlation_id=f"order:{id_}",
            causation=Causation(job=job, token=None if job is None else 7),
        )
        for type_ in ("shop", "operator", "worker")
        for id_ in ("ann", "bob")
        for job in (None, ABOUT)
    ]
)
ENDINGS = (
    jobs.Discarded,
    jobs.Retried,
    operations.Failed,
    operations.Retried,
    operations.Cancelled,
    goods.Failed,
    goods.Refunded,
    goods.Retried,
    goods.ReviewOpened,
    goods.ReviewDecided,
)
BORN = st.sampled_from(
    [
        ("fulfillment", f"fulfillment:{ABOUT}"),
        ("fulfillment", f"fulfillment:{ABOUT}"),
        ("fulfillment", f"fulfillment:{str(ABOUT).upper()}"),
        ("fulfillment", f"order_fanout:{ABOUT}"),
        ("fulfillment", None),
        ("goods_delivery", f"goods_delivery:{ABOUT}"),
        ("goods_reconcile", f"goods_reconcile:{ABOUT}"),
        ("order_fanout", f"order_fanout:{ABOUT}"),
        ("order_fanout", f"fulfillment:{ABOUT}"),
        ("report", f"report:{ABOUT}"),
        ("report", "once"),
    ]
)


def _later(of: str, birth: type[Event]) -> st.SearchStrategy[Event]:
    """Return a strategy for any fact, those that letters begin and end with often."""
    found = [event for event in EVENT_CLASSES.values() if event is not birth]
    often = [event for event in ENDINGS for _ in range(4)]
    fitting = [event for event in found + often if event.tag.startswith(of)]
    return st.sampled_from(fitting).flatmap(instances)


@st.composite
def _born_jobs(draw: st.DrawFn) -> Event:
    born = draw(instances(jobs.Enqueued))
    kind, key = draw(BORN)
    return msgspec.structs.replace(born, kind=kind, unique_key=key)


LIVES = st.one_of(
    st.tuples(
        _born_jobs(), st.lists(_later("job.", jobs.Enqueued), min_size=2, max_size=9)
    ),
    st.tuples(
        instances(operations.Requested),
        st.lists(_later("fulfillment.", operations.Requested), min_size=2, max_size=9),
    ),
    st.tuples(
        instances(goods.Owed),
        st.lists(_later("goods.", goods.Owed), min_size=2, max_size=9),
    ),
)


@st.composite
def streams(draw: st.DrawFn) -> list[RecordedEvent]:
    """Return one stream: its birth, and whatever came afterwards."""
    birth, later = draw(LIVES)
    stream_id = draw(st.uuids())
    return [
        RecordedEvent(
            position=10 * version,
            tenant_id="default",
            stream_id=stream_id,
            version=version,
            tag=event.tag,
            schema=1,
            event=event,
            meta=draw(METAS),
            recorded_at=BEGAN + timedelta(seconds=version),
        )
        for version, event in enumerate([birth, *later], 1)
    ]


def told(stream: list[RecordedEvent]) -> Iterator[Told]:
    """Yield the rows of the log that the events are."""
    for recorded in stream:
        yield Told(
            position=recorded.position,
            tenant_id=recorded.tenant_id,
            stream_id=recorded.stream_id,
            version=recorded.version,
            type=recorded.tag,
            data=msgspec.json.decode(msgspec.json.encode(recorded.event)),
            meta=msgspec.json.decode(msgspec.json.encode(recorded.meta)),
            at=recorded.recorded_at,
        )
