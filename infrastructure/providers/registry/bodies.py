"""Bodies of callbacks under other keys than the active one (see `SealedBodies`).

Those alone that may be replayed: of the others nothing follows any more.
Pages of rows, each committed for itself.  A row that somebody removes or replaces
meanwhile is left to him; one that does not open stays as it is.
"""

from typing import Final, cast
from uuid import UUID

from application.providers.sealing import Place, Sealed, Seals, Taken
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.heads.table import number, text

PAGE: Final = 100
_TABLE: Final = "provider_callbacks"
_COLUMN: Final = "body"
_FIRST: Final = UUID(int=0)

_COUNTS: Final = """
SELECT body_key, count(*)
  FROM counterfoil.provider_callbacks
 WHERE state IN ('ignored', 'failed')
   AND body_key IS NOT NULL
 GROUP BY body_key
"""

_PAGE: Final = """
SELECT id, tenant_id, body, body_key
  FROM counterfoil.provider_callbacks
 WHERE id > %(after)s
   AND state IN ('ignored', 'failed')
   AND body_key <> %(key)s
 ORDER BY id
 LIMIT %(most)s
   FOR UPDATE
"""

_TAKE: Final = """
UPDATE counterfoil.provider_callbacks
   SET body = %(body)b, body_key = %(key)s
 WHERE id = %(id)s
"""


class PostgresSealedBodies:
    """Seals bodies of callbacks anew, over pooled connections."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def counts(self) -> dict[str, int]:
        """See `SealedBodies.counts`."""
        with self._connections.connection() as connection:
            rows = connection.execute(_COUNTS).fetchall()
        return {text(row[0]): number(row[1]) for row in rows}

    def take_over(self, seals: Seals) -> Taken:
        """See `SealedBodies.take_over`."""
        n_taken = n_unreadable = 0
        after: UUID | None = _FIRST
        while after is not None:
            with self._connections.connection() as connection, transaction(connection):
                taken, after = self._page(connection, seals, after)
            n_taken += taken.n_taken
            n_unreadable += taken.n_unreadable
        return Taken(n_taken=n_taken, n_unreadable=n_unreadable)

    def _page(
        self, connection: Connection, seals: Seals, after: UUID
    ) -> tuple[Taken, UUID | None]:
        asked = {"after": after, "key": seals.active, "most": PAGE}
        rows = connection.execute(_PAGE, asked, binary=True).fetchall()
        changes: list[dict[str, object]] = []
        for row in rows:
            place = Place(
                tenant=text(row[1]), table=_TABLE, column=_COLUMN, row=str(row[0])
            )
            sealed = Sealed(text(row[3]), bytes(cast("bytes", row[2])))
            body = seals.open(sealed, place)
            if isinstance(body, bytes):
                anew = seals.seal(body, place)
                changes.append({"id": row[0], "body": anew.content, "key": anew.key})
        for change in changes:
            connection.execute(_TAKE, change)
        last = cast("UUID", rows[-1][0]) if len(rows) == PAGE else None
        taken = Taken(n_taken=len(changes), n_unreadable=len(rows) - len(changes))
        return taken, last
