"""The story of one id: everything that happened around it, and where it stands."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec
import psycopg

from domain.event import Instant
from projections.connections import Lend, one_snapshot
from projections.job_line import JobLine
from projections.log_event import COLUMNS, LogEvent, read_events
from projections.maintenance import WindowLine
from projections.moment import read_moment
from projections.why.heads import (
    DeliveryHead,
    EntitlementHead,
    Heads,
    OperationHead,
    OrderHead,
    read_heads,
)
from projections.why.relations import Related, find_related
from projections.why.subject import find_subject

_WHOLE: Final = (
    COLUMNS
    + """
 WHERE e.stream_id = ANY(%(streams)s)
 ORDER BY e.position DESC
 LIMIT %(limit)s
"""
)

# What the jobs of the story did to an entitlement that has many orders.
_PARTLY: Final = (
    COLUMNS
    + """
 WHERE e.stream_id = ANY(%(partly)s)
   AND e.meta->'causation'->>'job' = ANY(%(jobs)s)
 ORDER BY e.position DESC
 LIMIT %(limit)s
"""
)

# What operators were refused never touches its target's stream.
_REFUSED: Final = (
    COLUMNS
    + """
 WHERE e.type = 'operator.action_refused'
   AND e.data->>'target' = ANY(%(targets)s)
 ORDER BY e.position DESC
 LIMIT %(limit)s
"""
)


class Story(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened around one id, and where everything stands."""

    key: str
    kind: str
    now: Instant
    live_workers: int
    events: tuple[LogEvent, ...]
    """In the order of the log."""
    has_earlier: bool
    """Whether the beginning is left out."""
    orders: tuple[OrderHead, ...]
    entitlements: tuple[EntitlementHead, ...]
    operations: tuple[OperationHead, ...]
    deliveries: tuple[DeliveryHead, ...]
    jobs: tuple[JobLine, ...]
    """Those that are not over, and the dead."""
    windows: tuple[WindowLine, ...]
    """Of maintenance, when the id is a window's."""


@dataclass(frozen=True, slots=True)
class Why:
    """Tells stories."""

    lend: Lend

    def __call__(self, key: str, *, tenant_id: str, limit: int) -> Story | None:
        """Return the story of an id, its last `limit` events; None: nobody has it."""
        with one_snapshot(self.lend) as connection:
            subject = find_subject(connection, tenant_id, key)
            if subject is None:
                return None
            related = find_related(connection, subject)
            heads = read_heads(connection, related)
            events = _read(connection, key, related, heads, limit + 1)
            moment = read_moment(connection)
        return Story(
            key=key,
            kind=subject.kind,
            now=moment.now,
            live_workers=moment.live_workers,
            events=tuple(events[-limit:]),
            has_earlier=len(events) > limit,
            orders=heads.orders,
            entitlements=heads.entitlements,
            operations=heads.operations,
            deliveries=heads.deliveries,
            jobs=heads.jobs,
            windows=heads.windows,
        )


def _read(
    connection: psycopg.Connection[Any],
    key: str,
    related: Related,
    heads: Heads,
    limit: int,
) -> list[LogEvent]:
    """Return the last `limit` events of the story, in the order of the log."""
    whole = set(related.entitlements)
    partly = [
        each.stream_id for each in heads.entitlements if each.stream_id not in whole
    ]
    parameters: dict[str, object] = {
        "streams": related.streams,
        "partly": partly,
        "jobs": [str(job) for job in related.jobs],
        "targets": [key, *(str(stream) for stream in related.streams)],
        "limit": limit,
    }
    found = [
        event
        for statement in (_WHOLE, _PARTLY, _REFUSED)
        for event in read_events(connection, statement, parameters)
    ]
    return sorted(found, key=lambda event: event.position)[-limit:]
