"""The log as it is, up to the horizon: everything before it is final and in order."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from projections.connections import Lend
from projections.log_event import COLUMNS, LogEvent, read_events

_HORIZON: Final = "SELECT counterfoil.horizon()"

_WHERE: Final = """
 WHERE e.position > %(after)s
   AND e.position <= %(horizon)s
   AND (%(stream_id)s::uuid IS NULL OR e.stream_id = %(stream_id)s)
   AND (%(type)s::text IS NULL OR e.type = %(type)s)
   AND (%(correlation_id)s::text IS NULL
        OR e.meta->>'correlation_id' = %(correlation_id)s)
   AND (%(tenant_id)s::text IS NULL OR e.tenant_id = %(tenant_id)s)
"""

_FORWARD: Final = COLUMNS + _WHERE + " ORDER BY e.position LIMIT %(limit)s"
_LATEST: Final = COLUMNS + _WHERE + " ORDER BY e.position DESC LIMIT %(limit)s"


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are wanted; None means any."""

    stream_id: UUID | None = None
    type: str | None = None
    correlation_id: str | None = None
    tenant_id: str | None = None
    after: int | None = None
    """Read on from this position; None: the latest ones."""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class EventLog:
    """Reads the log."""

    lend: Lend

    def __call__(self, wanted: EventFilter) -> list[LogEvent]:
        """Return events in the order of the log."""
        parameters: dict[str, object] = msgspec.structs.asdict(wanted)
        parameters["after"] = wanted.after or 0
        with self.lend() as connection:
            # In a statement of its own, before the read: see migrations/0001_log.sql.
            (row,) = connection.execute(_HORIZON).fetchall()
            parameters["horizon"] = row[0]
            if wanted.after is not None:
                return read_events(connection, _FORWARD, parameters)
            return read_events(connection, _LATEST, parameters)[::-1]
