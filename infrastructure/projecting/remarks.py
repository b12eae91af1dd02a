"""What operators do to rows, on record in the transaction that does it."""

from typing import Final
from uuid import UUID

from application.unit import Group
from domain.event import Meta
from domain.operators.events import OperatorEvent, Remark, evolve
from domain.stream import Change, Ref, StreamKind
from infrastructure.postgres.appending import write
from infrastructure.postgres.database import Connection

_TENANT: Final = "default"
"""Of what is the whole installation's, as projections are."""

_POSITION: Final = """
SELECT position FROM counterfoil.events WHERE stream_id = %(stream)s AND version = 1
"""

_LAST: Final = "SELECT counterfoil.last_position()"


def remark(
    connection: Connection,
    event: OperatorEvent,
    meta: Meta,
    stream_id: UUID,
    tenant_id: str = _TENANT,
) -> int:
    """Return the position of a new stream of this one event, not committed yet.

    It takes a ticket of the log: to be called last, when no lock is waited for.
    """
    ref = Ref(StreamKind.REMARK, stream_id)
    change = Change(
        ref=ref,
        tenant_id=tenant_id,
        expected=0,
        events=(event,),
        state=evolve(Remark(), event),
    )
    group = Group((ref,), lambda _locked, _now: (change,), meta)
    # The stream is new, so its id tells this transaction from any other.
    return write(connection, [(group, (change,))], stream_id)[stream_id]


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
