"""Change a row together with its record: in one transaction, and once.

key of the request ─► lock ─► make: decide, write, record ─► COMMIT
  ▲                    │                                        │
  │                    └─ after a lost answer: the record is    │
  │                       there, so it was done; or repeat      │
  ├─ race lost (≤ 5 times), lock not had in time ◄──────────────┤
  └─ answer lost: new connection, the same locks (which wait ◄──┘
     for the old backend)

    def lock(connection: Connection) -> Row | None: …       FOR UPDATE
    def make(turn: Turn[Done], locked: Row | None) -> Done:
        …
        return turn.record(events, meta, lambda position: Done(…, position))

    recorded(connections, lock, make, once=instruction.once)
"""

import random
import time
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Final

import psycopg

from application.once.commit import refuse_key
from application.operators.refusals import DEFAULT_TENANT
from application.unit import KeyRefused, Once
from domain.event import Meta
from domain.operators.events import OperatorEvent
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.once.keys import Taken, keep, require, take
from infrastructure.postgres.batch_store import REPEATS, Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.figures.written import tell_remarks
from infrastructure.postgres.groups.verdicts import RACES
from infrastructure.recording.remarks import position_of, remark

if TYPE_CHECKING:
    from uuid import UUID

PATIENCE_SECONDS: Final = 15.0
"""Longer than a frozen process may hold a lock: its server's side ends after 10 s."""

_LONGEST_PAUSE_SECONDS: Final = 1.0
_LOCK_NOT_HAD: Final = "55P03"

type Lock[L] = Callable[[Connection], L]
"""Keeps everybody else away from the row until the transaction's end.

Whatever an earlier turn has sent is there by then, or never will be: an insert that
waits for its twin is such a lock as well.
"""

type Make[T, L] = Callable[[Turn[T], L], T]
"""Decides on what was locked, writes and records it; refuses by raising.

Called again when the turn is repeated.  What records nothing may have written nothing.
"""


class Turn[T]:
    """One try: inside its transaction, under the lock."""

    def __init__(self, connection: Connection, sent: "_Sent[T]") -> None:
        """Take the transaction's connection, and what was sent before."""
        self.connection = connection
        self.has_recorded = False
        self._sent = sent

    def record(
        self,
        events: OperatorEvent | tuple[OperatorEvent, ...],
        meta: Meta,
        answer: Callable[[int], T],
        tenant_id: str = DEFAULT_TENANT,
    ) -> T:
        """Return the answer at the record's position, which is not committed yet.

        It takes a ticket of the log: to be called last, when no lock is waited for.
        """
        self.has_recorded = True
        self._sent.answer = answer
        self._sent.events = events if isinstance(events, tuple) else (events,)
        stream = self._sent.stream
        return answer(remark(self.connection, events, meta, stream, tenant_id))


def recorded[T, L](
    connections: Connections,
    lock: Lock[L],
    make: Make[T, L],
    *,
    once: Once | None = None,
    races: Container[str | None] = RACES,
) -> T:
    """Return what `make` returned, committed.

    Raises:
        AnsweredBeforeError: the key's request was carried out before.
        CounterfoilError: what `lock` or `make` raised; nothing is written.
        DatabaseUnavailableError: nothing is known to be done.
    """
    change = _Change(lock, make, once)
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    lost, pause = 0, 0.01
    while True:
        try:
            with connections.connection() as connection:
                return change.run(connection)
        except DatabaseUnavailableError:
            if time.monotonic() >= give_up_at:
                raise
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        except psycopg.Error as error:
            if error.sqlstate not in races:
                raise
            lost += error.sqlstate != _LOCK_NOT_HAD
            if lost > REPEATS or time.monotonic() >= give_up_at:
                told = " ".join(str(error).split())
                raise DatabaseUnavailableError(told) from error
        time.sleep(random.uniform(0.0, pause))  # noqa: S311 - spreads a race


class _Sent[T]:
    """What the turns of one change have sent, under one id."""

    def __init__(self) -> None:
        self.stream: UUID = new_id()
        self.answer: Callable[[int], T] | None = None
        """That of the last turn, which may have been committed; None: none was sent."""
        self.events: tuple[OperatorEvent, ...] = ()
        """What that turn has recorded."""

    def found(self, connection: Connection) -> T | None:
        """Return what an earlier turn has committed; asked under the lock."""
        if self.answer is None:
            return None
        position = position_of(connection, self.stream)
        return None if position is None else self.answer(position)


class _Change[T, L]:
    """One change on its way to be committed, over however many connections."""

    def __init__(self, lock: Lock[L], make: Make[T, L], once: Once | None) -> None:
        self._lock = lock
        self._make = make
        self._once = once
        self._sent = _Sent[T]()

    def run(self, connection: Connection) -> T:
        """Return what one turn has made, or found made, committed."""
        made = self._turn(connection)
        tell_remarks(self._sent.events)
        return made

    def _turn(self, connection: Connection) -> T:
        with transaction(connection):
            taken = self._taken(connection)
            locked = self._lock(connection)
            found = self._sent.found(connection)
            if found is not None:
                return found
            self._sent.events = ()
            turn = Turn(connection, self._sent)
            made = self._make(turn, locked)
            if taken is not None and turn.has_recorded:
                keep(connection, taken, taken.once.answer())
        return made

    def _taken(self, connection: Connection) -> Taken | None:
        """Return the key, which comes before every other lock.

        After a lost answer the key may be kept already, by this very change: then the
        record of it is found.
        """
        if self._once is None:
            return None
        if self._sent.answer is None:
            return require(connection, self._once)
        taken = take(connection, self._once, waits=True)
        if not isinstance(taken, KeyRefused):
            return taken
        if position_of(connection, self._sent.stream) is None:
            refuse_key(taken)
        return None
