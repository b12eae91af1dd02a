"""Outbox lag: how many messages were recorded, by topic, tenant, and when.

Every event that has a message counts in its minute, its hour, its day and ever, all in
UTC and by when the event was recorded.  A minute's count is split at every 16,384th
position of the log, so that no row stands for more messages than can be looked at.
What waits is what was recorded without what is gone, which the log does not tell:
`counterfoil.outbox_gone` counts that by the same keys.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, override

import msgspec

from domain.event import Event
from domain.outbox import TOLD
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection

MINUTE: Final = "minute"
HOUR: Final = "hour"
DAY: Final = "day"
EVER: Final = "ever"
SPANS: Final = {
    DAY: timedelta(days=1),
    HOUR: timedelta(hours=1),
    MINUTE: timedelta(minutes=1),
}
"""How long a count's span is; the one that has no end is not named here."""

_BLOCK_BITS: Final = 14
"""Of positions: as many as are scanned within milliseconds."""
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class OutboxCount(msgspec.Struct, frozen=True, kw_only=True):
    """One count; instants are those of the events, in whatever order they came."""

    span: str
    topic: str
    begins_at: datetime
    tenant_id: str
    block: int
    recorded: int
    first_position: int
    last_position: int
    first_at: datetime
    last_at: datetime


class OutboxLag(Projection[OutboxCount]):
    """Counts messages; every event's order would give the same."""

    name: ClassVar[str] = "outbox_lag"
    schema: ClassVar[int] = 2
    row = OutboxCount
    key: ClassVar[tuple[str, ...]] = (
        "span",
        "topic",
        "begins_at",
        "tenant_id",
        "block",
    )
    events: ClassVar[Collection[type[Event]]] = TOLD
    is_by_stream: ClassVar[bool] = False

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        """See `Projection.keys`."""
        return tuple(
            (span, recorded.tag, begins_at, recorded.tenant_id, block)
            for span, begins_at, block in _counts(recorded)
        )

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        """Return False: a count may be there from any event before."""
        return False

    @override
    def fold(
        self, key: Key, row: OutboxCount | None, recorded: RecordedEvent
    ) -> OutboxCount:
        """See `Projection.fold`."""
        if row is None:
            return _first(key, recorded)
        position, at = recorded.position, recorded.recorded_at
        return msgspec.structs.replace(
            row,
            recorded=row.recorded + 1,
            first_position=min(row.first_position, position),
            last_position=max(row.last_position, position),
            first_at=min(row.first_at, at),
            last_at=max(row.last_at, at),
        )


def _counts(recorded: RecordedEvent) -> tuple[tuple[str, datetime, int], ...]:
    """Return span, beginning and block of each count that the event is in."""
    minute = recorded.recorded_at.astimezone(UTC).replace(second=0, microsecond=0)
    return (
        (MINUTE, minute, recorded.position >> _BLOCK_BITS),
        (HOUR, minute.replace(minute=0), 0),
        (DAY, minute.replace(hour=0, minute=0), 0),
        (EVER, _BEGINNING, 0),
    )


def _first(key: Key, recorded: RecordedEvent) -> OutboxCount:
    span, begins_at, block = next(
        each for each in _counts(recorded) if each[0] == key[0]
    )
    return OutboxCount(
        span=span,
        topic=recorded.tag,
        begins_at=begins_at,
        tenant_id=recorded.tenant_id,
        block=block,
        recorded=1,
        first_position=recorded.position,
        last_position=recorded.position,
        first_at=recorded.recorded_at,
        last_at=recorded.recorded_at,
    )
