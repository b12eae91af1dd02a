"""What every new connection is looked at by before anything is done over it.

A connection leads to one server for as long as it lives.  So what could be restored or
promoted under a running process is met by a connection that is new, and is engaged
over that very connection before anybody else has it.
"""

from collections.abc import Sequence
from typing import Final

import psycopg

from domain.event import Actor, Meta
from domain.goods.quarantine import JOURNAL
from infrastructure.guards.journal import FileJournal, Line
from infrastructure.guards.quarantine import Evidence, engage_on
from infrastructure.guards.standing import signs_of
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number, text, truth
from infrastructure.telemetry import emit

_WHAT: Final = "restore-guard"

_LOOK: Final = """
SELECT g.system_identifier IS NULL, g.signs, counterfoil.restore_signs()
  FROM counterfoil.restore_guard g
"""

_KEEP_PLACE: Final = "SELECT counterfoil.keep_place()"

# By the delivery of a line, whose stream is short; there is one submission of it for
# each purchase, and another one where one was withdrawn.
_LACKING: Final = """
SELECT l.key, l.purchase
  FROM unnest(%(orders)s::uuid[], %(numbers)s::integer[], %(keys)s::text[],
              %(purchases)s::integer[])
       AS l(paid_order, number, key, purchase)
 WHERE NOT EXISTS (
           SELECT
             FROM counterfoil.deliveries d
             JOIN counterfoil.events e ON e.stream_id = d.stream_id
            WHERE d.order_stream_id = l.paid_order
              AND d.line = l.number
              AND e.type = 'goods.purchase_submitted'
              AND e.data->>'key' = l.key
              AND (e.data->>'purchase')::integer = l.purchase)
   AND NOT EXISTS (
           SELECT FROM counterfoil.lost_purchases p
            WHERE p.key = l.key AND p.purchase = l.purchase)
"""

_NOT_OURS_YET: Final = ("3F000", "42P01", "42883", "42703")
"""The schema, or this part of it, is not there: it is to be migrated."""

_READ_ONLY: Final = "25006"
"""Nothing can be bought over it either."""


def evidence_on(connection: Connection, lines: Sequence[Line]) -> Evidence:
    """Return what speaks for a restore, beyond what the guard knows already."""
    row = connection.execute(_LOOK).fetchone()
    if row is None:
        return Evidence(frozenset())
    if truth(row[0]):
        connection.execute(_KEEP_PLACE)
    lost = lacking(connection, lines)
    journal = (JOURNAL,) if lost else ()
    signs = frozenset((*signs_of(row[2]), *journal))
    return Evidence(signs - {*signs_of(row[1])}, lost)


def lacking(connection: Connection, lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines that the log lacks, and that nobody has told yet."""
    if not lines:
        return ()
    asked = {
        "orders": [each.order for each in lines],
        "numbers": [each.number for each in lines],
        "keys": [each.key for each in lines],
        "purchases": [each.purchase for each in lines],
    }
    rows = connection.execute(_LACKING, asked).fetchall()
    return tuple(Line(text(row[0]), number(row[1])) for row in rows)


class ConnectionLook:
    """Looks at connections for one process."""

    def __init__(self, journal: FileJournal, actor: Actor) -> None:
        """Compare the log with this host's journal, in the name of `actor`."""
        self._journal = journal
        self._meta = Meta(actor=actor, correlation_id=_WHAT)

    def __call__(self, connection: Connection) -> None:
        """Engage over the connection whatever its database shows.

        Raises:
            psycopg.Error: it could not be looked at, so it must not be used.
        """
        try:
            self.look(connection)
        except psycopg.Error as error:
            if error.sqlstate not in {*_NOT_OURS_YET, _READ_ONLY}:
                raise

    def look(self, connection: Connection) -> bool:
        """Return whether anything new was found, and engaged."""
        evidence = evidence_on(connection, self._lines())
        if not evidence.signs and not evidence.lost:
            return False
        position = engage_on(connection, evidence, self._meta)
        if position is not None:
            signs = " ".join(sorted(evidence.signs))
            emit("quarantine engaged", signs=signs, lost=len(evidence.lost))
        return True

    def _lines(self) -> tuple[Line, ...]:
        try:
            return self._journal.newest()
        except OSError as error:
            # Nothing is bought here while it is so: see `Guards.barring`.
            emit("journal cannot be read", error=error.strerror or str(error))
            return ()
