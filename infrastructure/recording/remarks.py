"""What operators do to rows, on record in the transaction that does it."""

from typing import Final
from uuid import UUID

import msgspec

from application.operators.refusals import DEFAULT_TENANT
from application.unit import Group
from domain.event import Meta
from domain.operators.events import ActionTaken, OperatorEvent
from domain.operators.remarks import remarked
from domain.stream import Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.postgres.appending import write
from infrastructure.postgres.database import Connection

_POSITION: Final = """
SELECT position FROM counterfoil.events WHERE stream_id = %(stream)s AND version = 1
"""

_LAST: Final = "SELECT counterfoil.last_position()"


def remark(
    connection: Connection,
    event: OperatorEvent | tuple[OperatorEvent, ...],
    meta: Meta,
    stream_id: UUID,
    tenant_id: str = DEFAULT_TENANT,
) -> int:
    """Return the position of a new stream of this one event, not committed yet.

    Of several events, each a stream of its own with the same commit id, the last one
    has `stream_id`, and the position is its.  One that tells an action names it to all.

    It takes a ticket of the log: to be called last, when no lock is waited for.
    """
    events = event if isinstance(event, tuple) else (event,)
    for each in events:
        if isinstance(each, ActionTaken):
            meta = msgspec.structs.replace(meta, action=each.action)
    ids = (*(new_id() for _ in events[1:]), stream_id)
    changes = tuple(
        remarked(Ref(StreamKind.REMARK, id_), tenant_id, each)
        for id_, each in zip(ids, events, strict=True)
    )
    refs = tuple(each.ref for each in changes)
    group = Group(refs, lambda _locked, _now: changes, meta)
    # The stream is new, so its id tells this transaction from any other.
    return write(connection, [(group, changes)], stream_id)[stream_id]


def last(connection: Connection) -> int:
    """Return a position that nothing committed before now is behind."""
    ((position,),) = connection.execute(_LAST).fetchall()
    return int(str(position))


def position_of(connection: Connection, stream_id: UUID) -> int | None:
    """Return the position of a remark; None: its transaction was rolled back.

    Asked when an answer was lost, under a lock that its transaction held: what is not
    there then, never will be.
    """
    row = connection.execute(_POSITION, {"stream": stream_id}).fetchone()
    return None if row is None else int(str(row[0]))
