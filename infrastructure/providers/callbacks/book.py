"""The table of callbacks (see `CallbackBook`)."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from application.callbacks.callback import Callback, Remarked, Told
from application.providers.sealing import Sealed
from application.unit import Once
from domain.event import Instant
from domain.operators.events import ActionTaken, OperatorEvent
from infrastructure.ids import new_id
from infrastructure.once.keys import keep, require
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.figures.written import tell_remarks
from infrastructure.postgres.heads.table import (
    instant,
    maybe_instant,
    maybe_text,
    maybe_uuid,
    number,
    text,
    uuid,
)
from infrastructure.recording.remarks import remark

_NOW: Final = "SELECT counterfoil.now()"

_READ: Final = """
SELECT id, tenant_id, provider, event_id, state, code, kind, delivery_id, duplicate_of,
       body_sha256, body_bytes, body, body_key, received_at, processed_at
  FROM counterfoil.provider_callbacks
 WHERE id = %(id)s
"""

_READ_EVENT: Final = """
SELECT id, tenant_id, provider, event_id, state, code, kind, delivery_id, duplicate_of,
       body_sha256, body_bytes, body, body_key, received_at, processed_at
  FROM counterfoil.provider_callbacks
 WHERE tenant_id = %(tenant_id)s
   AND provider = %(provider)s
   AND event_id = %(event_id)s
   AND state IN ('accepted', 'ignored', 'failed')
"""

# Ids are made in the order of time, so the primary key gives the newest first.
_LATEST: Final = """
SELECT id, tenant_id, provider, event_id, state, code, kind, delivery_id, duplicate_of,
       body_sha256, body_bytes, body, body_key, received_at, processed_at
  FROM counterfoil.provider_callbacks
 WHERE (%(state)s::text IS NULL OR state = %(state)s)
   AND (%(provider)s::text IS NULL OR provider = %(provider)s)
 ORDER BY id DESC
 LIMIT %(limit)s
"""

_INSERT: Final = """
INSERT INTO counterfoil.provider_callbacks
       (id, tenant_id, provider, event_id, state, code, kind, delivery_id,
        duplicate_of, body_sha256, body_bytes, body, body_key)
VALUES (%(id)s, %(tenant_id)s, %(provider)s, %(event_id)s, %(state)s, %(code)s,
        %(kind)s, %(delivery)s, %(duplicate_of)s, %(sha256)b, %(bytes)s, %(body)b,
        %(key)s)
ON CONFLICT (tenant_id, provider, event_id)
      WHERE state IN ('accepted', 'ignored', 'failed') DO NOTHING
RETURNING id
"""

# What is accepted stays so: whoever told it at the same time was not wrong.
_MARK: Final = """
UPDATE counterfoil.provider_callbacks
   SET state = %(state)s, code = %(code)s, kind = %(kind)s, delivery_id = %(delivery)s,
       processed_at = counterfoil.now()
 WHERE id = %(id)s
   AND state IN ('ignored', 'failed')
RETURNING id
"""

_ROUNDS: Final = 5
"""How often a row that goes between two statements is looked for (mechanisms 11)."""


class LostCallbackError(RuntimeError):
    """A row was neither there nor free to be made, five times."""


class PostgresCallbackBook:
    """Keeps callbacks over pooled connections."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def now(self) -> Instant:
        """See `CallbackBook.now`."""
        with self._connections.connection() as connection:
            ((now,),) = connection.execute(_NOW, binary=True).fetchall()
        return instant(now)

    def keep(self, callback: Callback) -> Callback | None:
        """See `CallbackBook.keep`."""
        with self._connections.connection() as connection:
            for _ in range(_ROUNDS):
                with transaction(connection):
                    if connection.execute(_INSERT, _row(callback)).fetchone():
                        return None
                known = self._of_event(connection, callback)
                if known is not None:
                    return known
        raise LostCallbackError(str(callback.id))

    def _of_event(self, connection: Connection, callback: Callback) -> Callback | None:
        row = connection.execute(_READ_EVENT, _row(callback), binary=True).fetchone()
        return None if row is None else _callback(row)

    def mark(
        self,
        callback: Callback,
        told: Told,
        remarks: Sequence[Remarked],
        once: Once | None = None,
    ) -> Callback:
        """See `CallbackBook.mark`."""
        row = {
            "id": callback.id,
            "state": told.status,
            "code": told.code,
            "kind": told.kind,
            "delivery": told.delivery,
        }
        kept: list[OperatorEvent] = []
        with self._connections.connection() as connection:
            with transaction(connection):
                taken = None if once is None else require(connection, once)
                is_marked = connection.execute(_MARK, row).fetchone() is not None
                for each in remarks:
                    events = tuple(
                        event
                        for event in each.events
                        if is_marked or isinstance(event, ActionTaken)
                    )
                    if events:
                        tenant = callback.tenant_id
                        remark(connection, events, each.meta, new_id(), tenant)
                        kept += events
                if taken is not None:
                    keep(connection, taken, taken.once.answer())
            tell_remarks(kept)
            marked = self._read(connection, callback.id)
        if marked is None:
            raise LostCallbackError(str(callback.id))
        return marked

    def find(self, callback: UUID) -> Callback | None:
        """See `CallbackBook.find`."""
        with self._connections.connection() as connection:
            return self._read(connection, callback)

    def _read(self, connection: Connection, callback: UUID) -> Callback | None:
        row = connection.execute(_READ, {"id": callback}, binary=True).fetchone()
        return None if row is None else _callback(row)

    def latest(
        self, *, status: str | None, provider: str | None, limit: int
    ) -> Sequence[Callback]:
        """See `CallbackBook.latest`."""
        wanted = {"state": status, "provider": provider, "limit": limit}
        with self._connections.connection() as connection:
            rows = connection.execute(_LATEST, wanted, binary=True).fetchall()
        return [_callback(row) for row in rows]


def _row(callback: Callback) -> dict[str, object]:
    sealed = callback.sealed
    return {
        "id": callback.id,
        "tenant_id": callback.tenant_id,
        "provider": callback.provider,
        "event_id": callback.event_id,
        "state": callback.status,
        "code": callback.code,
        "kind": callback.kind,
        "delivery": callback.delivery,
        "duplicate_of": callback.duplicate_of,
        "sha256": callback.body_sha256,
        "bytes": callback.body_bytes,
        "body": None if sealed is None else sealed.content,
        "key": None if sealed is None else sealed.key,
    }


def _callback(row: tuple[object, ...]) -> Callback:
    content, key = row[11], maybe_text(row[12])
    is_sealed = isinstance(content, bytes) and key is not None
    return Callback(
        id=uuid(row[0]),
        tenant_id=text(row[1]),
        provider=text(row[2]),
        event_id=maybe_text(row[3]),
        status=text(row[4]),
        code=maybe_text(row[5]),
        kind=maybe_text(row[6]),
        delivery=maybe_uuid(row[7]),
        duplicate_of=maybe_uuid(row[8]),
        body_sha256=_bytes(row[9]),
        body_bytes=number(row[10]),
        sealed=Sealed(key or "", _bytes(content)) if is_sealed else None,
        received_at=instant(row[13]),
        processed_at=maybe_instant(row[14]),
    )


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        msg = f"expected bytes, not {type(value).__name__}"
        raise TypeError(msg)
    return value
