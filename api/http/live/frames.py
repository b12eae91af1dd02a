"""Frames of a stream of events (text/event-stream), each with its position."""

from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, Position, moment, position
from projections.queries import changes
from projections.queries.changes import Beyond, ChangeRow

BEAT: Final = b": still here\n\n"
RESET: Final = b"event: reset\ndata: {}\n\n"

_PREFIXES: Final = {
    changes.JOBS: Prefix.JOB,
    changes.OPERATIONS: Prefix.OPERATION,
    changes.DELIVERIES: Prefix.DELIVERY,
    changes.ORDERS: Prefix.ORDER,
}


class ChangeView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that has changed; what it is now is read where it is shown."""

    id: str
    topic: str
    type: str
    """The tag of the event."""
    version: int
    position: Position
    at: Moment


def views(
    found: Beyond, tenant_id: str, topics: Collection[str]
) -> tuple[ChangeView, ...]:
    """Return what of a lot is theirs: of each thing the last change, in order."""
    last: dict[object, ChangeRow] = {}
    for row in found.rows:
        if row.tenant_id == tenant_id and row.topic in topics:
            last.pop(row.stream_id, None)
            last[row.stream_id] = row
    return tuple(_view(row) for row in last.values())


def opening(found: Beyond) -> bytes:
    """Return the first bytes: when to come back, and from where."""
    return b"retry: 3000\nid: %d\n\n" % found.position


def frames(shown: Iterable[ChangeView]) -> bytes:
    """Return the frames of changes, to be sent at once."""
    return b"".join(_frame(each) for each in shown)


def _view(row: ChangeRow) -> ChangeView:
    topic = row.topic or ""
    prefix = _PREFIXES.get(topic)
    return ChangeView(
        id=str(row.stream_id) if prefix is None else told(prefix, row.stream_id),
        topic=topic,
        type=row.type,
        version=row.version,
        position=position(row.position),
        at=moment(row.recorded_at),
    )


def _frame(view: ChangeView) -> bytes:
    data = msgspec.json.encode(view)
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (
        view.position.encode(),
        view.type.encode(),
        data,
    )
