"""One change of a row of somebody's, with its fact, committed once.

A turn may be repeated after its answer was lost.  It takes the row's lock first, so
that whatever an earlier turn has sent is there by then: the fact's stream tells.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast
from uuid import UUID

from application.access.record import about
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from domain.operators.events import ActionTaken
from infrastructure.guards.changing import committed
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.projecting.remarks import position_of, remark

type Row = tuple[object, ...]
type Named = Mapping[str, object]

_GONE: Final = "a row that was written and not found"


class Written:
    """What one turn does inside its transaction: lock, then change and tell."""

    def __init__(self, connection: Connection, stream: UUID) -> None:
        """Take the transaction's connection, and the stream of its fact."""
        self.connection = connection
        self._stream = stream

    def position_before(self) -> int | None:
        """Return where an earlier turn's fact is; asked under the row's lock."""
        return position_of(self.connection, self._stream)

    def tell(self, taken: ActionTaken, tenant_id: str, instruction: Instruction) -> int:
        """Write the fact; return its position, not committed yet."""
        meta = instruction.meta(about(taken.target_kind, UUID(taken.target)))
        return remark(self.connection, taken, meta, self._stream, tenant_id)


def written[Told](
    connections: Connections, turn: Callable[[Written], tuple[Told, int]]
) -> tuple[Told, int]:
    """Return what a turn returned, and the position of its fact, committed.

    Raises:
        ApplicationError: what the turn raised; nothing is written.
        DatabaseUnavailableError: nothing is known to be done.
    """
    stream = new_id()
    told: list[Told] = []

    def change(connection: Connection) -> int:
        with transaction(connection):
            answer, position = turn(Written(connection, stream))
        told.append(answer)
        return position

    position = committed(connections, change, stream)
    if position is None:  # a turn always has a fact
        raise LookupError(_GONE)
    return told[-1], position


def locked(found: Sequence[Row], what: str, key: str, instruction: Instruction) -> Row:
    """Return the one row that they see, whose first column is the tenant.

    Raises:
        NotFoundError: there is none.
    """
    seen = [row for row in found if instruction.sees(cast("str", row[0]))]
    if not seen:
        raise NotFoundError(what, key)
    return seen[0]


def as_id(key: str) -> UUID | None:
    """Return the id that a key is; None: it is a name."""
    try:
        return UUID(key)
    except ValueError:
        return None
