"""Change one row on somebody's behalf, with the record of it in the transaction.

lock ─► read ─► decide ─► write ─► record ─► COMMIT
  ▲                                            │
  └── answer lost: new connection, the same ◄──┘
      lock (that waits for the old backend), look for the record
"""

import random
import time
from typing import TYPE_CHECKING, Final, Protocol

import psycopg

from application.once.commit import refuse_key
from application.queues.rows import Changed, Decide
from application.unit import KeyRefused, Once
from domain.event import Meta
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.once.keys import Taken, keep, require, take
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.groups.verdicts import RACES
from infrastructure.postgres.heads.table import instant
from infrastructure.projecting.remarks import position_of, remark

if TYPE_CHECKING:
    from uuid import UUID

PATIENCE_SECONDS: Final = 15.0
"""Longer than a frozen process may hold a lock: its server's side ends after 10 s."""

_LONGEST_PAUSE_SECONDS: Final = 1.0
_NOW: Final = "SELECT counterfoil.now()"


class Row[S](Protocol):
    """One row: how it is locked, read and written, inside a transaction."""

    def lock(self, connection: Connection) -> None:
        """Keep everybody else away until the transaction's end; waits 2 s at most."""
        ...

    def read(self, connection: Connection) -> S | None:
        """Return what it says now; None: there is none, and none may be made."""
        ...

    def write(self, connection: Connection, after: S) -> None:
        """Let it say that."""
        ...


def change[S](
    connections: Connections,
    row: Row[S],
    decide: Decide[S],
    meta: Meta,
    once: Once | None = None,
) -> Changed[S] | None:
    """Return what was done, committed; None: there is no such row.

    Raises:
        AnsweredBeforeError: the key's request was carried out before.
        CounterfoilError: what `decide` raised; nothing is written.
        DatabaseUnavailableError: nothing is known to be done.
    """
    one = _Change(row, decide, meta, once)
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    pause = 0.01
    while True:
        try:
            with connections.connection() as connection:
                return one.run(connection)
        except DatabaseUnavailableError:
            if time.monotonic() >= give_up_at:
                raise
        except psycopg.Error as error:
            if error.sqlstate not in RACES:
                raise
            if time.monotonic() >= give_up_at:
                told = " ".join(str(error).split())
                raise DatabaseUnavailableError(told) from error
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        time.sleep(random.uniform(0.0, pause))  # noqa: S311 - spreads a race


class _Change[S]:
    """One change on its way to be committed, over however many connections."""

    def __init__(
        self, row: Row[S], decide: Decide[S], meta: Meta, once: Once | None
    ) -> None:
        self._row = row
        self._decide = decide
        self._meta = meta
        self._once = once
        self._stream: UUID = new_id()
        self._was_sent = False

    def run(self, connection: Connection) -> Changed[S] | None:
        with transaction(connection):
            taken = self._taken(connection)
            self._row.lock(connection)
            before = self._row.read(connection)
            if before is None:
                return None
            if self._was_sent:
                position = position_of(connection, self._stream)
                if position is not None:
                    return Changed(after=before, position=position)
            # After the lock: never older than what it decides on.
            ((now,),) = connection.execute(_NOW).fetchall()
            after, event = self._decide(before, instant(now))
            if after != before:
                self._row.write(connection, after)
            self._was_sent = True
            position = remark(connection, event, self._meta, self._stream)
            if taken is not None:
                keep(connection, taken, taken.once.answer())
        return Changed(after=after, position=position)

    def _taken(self, connection: Connection) -> Taken | None:
        """Return the key, which comes before every other lock.

        After a lost answer the key may be kept already, by this very change: then the
        record of it is found.
        """
        if self._once is None:
            return None
        if not self._was_sent:
            return require(connection, self._once)
        taken = take(connection, self._once, waits=True)
        if isinstance(taken, KeyRefused):
            if position_of(connection, self._stream) is None:
                refuse_key(taken)
            return None
        return taken
