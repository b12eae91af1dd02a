"""One event as the log holds it: the fact, its place, and when it was recorded."""

from datetime import datetime
from uuid import UUID

import msgspec

from domain.event import Event, Meta


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event as the log holds it."""

    position: int
    """Its place in the log; gaps are normal, order is not commit order."""
    tenant_id: str
    stream_id: UUID
    version: int
    """Its place in its stream, from 1 without gaps."""
    tag: str
    schema: int
    event: Event
    meta: Meta
    recorded_at: datetime
    """When the database recorded it, in UTC."""
