"""Reads windows of maintenance for decisions (see `Windows`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from application.operators.maintenance import OpenWindow
from domain.maintenance.aggregate import MaintenanceWindow
from domain.stream import Ref, StreamKind
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.maintenance import READ_OPEN, head_of
from infrastructure.postgres.heads.table import Row, instant, text


@dataclass(frozen=True, slots=True)
class PostgresWindows:
    """Reads over pooled connections, each statement by itself."""

    connections: Connections

    def open_windows(self) -> Sequence[OpenWindow]:
        """See `Windows.open_windows`."""
        with self.connections.connection() as connection:
            rows = connection.execute(READ_OPEN).fetchall()
        return [_window(row) for row in rows]


def _window(row: Row) -> OpenWindow:
    stream_id, head = head_of(row)
    if not isinstance(head.state, MaintenanceWindow):
        msg = "a window has the head of something else"
        raise TypeError(msg)
    return OpenWindow(
        ref=Ref(StreamKind.MAINTENANCE, stream_id),
        state=head.state,
        correlation_id=head.correlation_id,
        opened_by=text(row[11]),
        opened_at=instant(row[12]),
    )
