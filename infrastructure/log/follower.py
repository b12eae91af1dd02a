"""The product's own reader of the log: decoded events, up to the horizon."""

from uuid import UUID

from domain.recorded import RecordedEvent
from infrastructure.log.horizon import Horizon, Lend
from infrastructure.log.rows import EventRow, Window, read_log, read_stream
from infrastructure.postgres.codec import decode_event, decode_meta


class Follower:
    """Reads the log in order without ever skipping an event."""

    def __init__(self, lend: Lend, horizon: Horizon) -> None:
        """Take where to borrow connections, and the process's one horizon."""
        self._lend = lend
        self._horizon = horizon

    def read(self, after: int, limit: int) -> list[RecordedEvent]:
        """Return at most `limit` events behind position `after`, in order.

        Nothing that is committed later will have a position at or below the last
        one returned.  Empty while the horizon is not beyond `after`.

        Raises:
            UnknownEventError: a newer binary wrote one of them.
        """
        until = self._horizon.current()
        if until <= after:
            return []
        with self._lend() as connection:
            rows = read_log(connection, Window(after, until, limit))
        return [_decoded(row) for row in rows]

    def read_stream(self, stream_id: UUID) -> list[RecordedEvent]:
        """Return the whole committed stream in order; empty when it does not exist.

        Raises:
            UnknownEventError: a newer binary wrote one of its events.
        """
        with self._lend() as connection:
            rows = read_stream(connection, stream_id)
        return [_decoded(row) for row in rows]


def _decoded(row: EventRow) -> RecordedEvent:
    return RecordedEvent(
        position=row.position,
        tenant_id=row.tenant_id,
        stream_id=row.stream_id,
        version=row.version,
        tag=row.tag,
        schema=row.schema,
        event=decode_event(row.tag, row.schema, row.data),
        meta=decode_meta(row.meta),
        recorded_at=row.recorded_at_utc(),
    )
