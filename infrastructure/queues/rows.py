"""Rows that a person changes as one value, with the record of it."""

from typing import Final, Protocol

from application.queues.rows import Changed, Decide
from application.unit import Once
from domain.event import Meta
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant
from infrastructure.recording.recorded import Turn, recorded

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

    def make(turn: Turn[Changed[S] | None], _locked: None) -> Changed[S] | None:
        connection = turn.connection
        before = row.read(connection)
        if before is None:
            return None
        # After the lock: never older than what it decides on.
        ((now,),) = connection.execute(_NOW).fetchall()
        after, event = decide(before, instant(now))
        if after != before:
            row.write(connection, after)

        def changed(position: int) -> Changed[S]:
            return Changed(after=after, position=position)

        return turn.record(event, meta, changed)

    return recorded(connections, row.lock, make, once=once)
