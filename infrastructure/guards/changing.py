"""One change of a guard's row, committed once, however many turns that takes."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import psycopg

from application.operators.refusals import DEFAULT_TENANT
from application.operators.taken import Kept
from domain.event import Meta
from domain.operators.events import OperatorEvent
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import REPEATS, Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.groups.verdicts import RACES
from infrastructure.projecting.remarks import position_of, remark

_PATIENCE_SECONDS: Final = 10.0
_LONGEST_PAUSE_SECONDS: Final = 1.0

type Change = Callable[[Connection, Sent], Kept]
"""Commits one turn.

It takes the row's lock first, so whatever an earlier turn has sent is there by then,
and asks for that before it does anything.
"""


@dataclass(slots=True)
class Sent:
    """What the turns of one change have sent, under one id."""

    stream: UUID = field(default_factory=new_id)
    is_new: bool | None = None
    """Whether the last turn had something new; None: none has sent anything."""

    def found(self, connection: Connection) -> Kept | None:
        """Return what an earlier turn has committed; asked under the row's lock."""
        if self.is_new is None:
            return None
        position = position_of(connection, self.stream)
        return None if position is None else Kept(is_new=self.is_new, position=position)

    def remark(
        self,
        connection: Connection,
        events: tuple[OperatorEvent, ...],
        meta: Meta,
        tenant_id: str = DEFAULT_TENANT,
    ) -> Kept:
        """Return what is written, not committed yet: what is new, then the record."""
        self.is_new = len(events) > 1
        position = remark(connection, events, meta, self.stream, tenant_id)
        return Kept(is_new=self.is_new, position=position)


def kept(connections: Connections, change: Change) -> Kept:
    """Return what is committed, once.

    Raises:
        DatabaseUnavailableError: nothing is known to be done.
    """
    sent = Sent()
    return _repeated(connections, lambda connection, _: change(connection, sent))


def committed(
    connections: Connections, change: Callable[[Connection], int | None], stream: UUID
) -> int | None:
    """Return the position of the remark `stream`; None: it was so already.

    Raises:
        DatabaseUnavailableError: nothing is known to be done.
    """

    def turn(connection: Connection, is_in_doubt: bool) -> int | None:  # noqa: FBT001
        position = change(connection)
        if position is None and is_in_doubt:
            # What was sent before may have made it so.
            return position_of(connection, stream)
        return position

    return _repeated(connections, turn)


def _repeated[T](connections: Connections, turn: Callable[[Connection, bool], T]) -> T:
    """Return what a turn has committed; it is told whether an answer was lost."""
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    races, pause, is_in_doubt = 0, 0.01, False
    while True:
        try:
            with connections.connection() as connection:
                return turn(connection, is_in_doubt)
        except DatabaseUnavailableError:
            is_in_doubt = True
            if time.monotonic() >= give_up_at:
                raise
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        except psycopg.Error as error:
            races += 1
            if error.sqlstate not in RACES:
                raise
            if races > REPEATS:
                told = " ".join(str(error).split())
                raise DatabaseUnavailableError(told) from error
        time.sleep(random.uniform(0.0, pause))  # noqa: S311 - spreads a race
