"""Changes providers and records each change (see `ProviderBook`).

lock the row ─► decide ─► write it ─► remark ─► COMMIT
   ▲ a submission reads the row under its lock, so once "disabled" is committed
   │ nothing more is submitted to it
   └── answer lost: new connection, the same lock, look for the remark
"""

import random
import time
from typing import TYPE_CHECKING, Final

import psycopg

from application.providers.book import Decide, Decided, Done, Provider, Standing
from domain.event import Meta
from domain.operators.events import CredentialRotated, CredentialSet
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import RACES, REPEATS, Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.projecting.remarks import last, position_of, remark
from infrastructure.providers.registry.rows import (
    lock_provider,
    read_provider,
    read_providers,
    read_standing,
    write_provider,
)

if TYPE_CHECKING:
    from uuid import UUID

_PATIENCE_SECONDS: Final = 10.0
_LONGEST_PAUSE_SECONDS: Final = 1.0
_BORN_TWICE: Final = "23505"
"""Somebody else has made the row since nothing was found to be locked."""


class PostgresProviderBook:
    """Keeps providers over pooled connections."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def change(self, tenant_id: str, slug: str, decide: Decide, meta: Meta) -> Done:
        """See `ProviderBook.change`."""
        change = _Change(tenant_id, slug, decide, meta)
        give_up_at = time.monotonic() + _PATIENCE_SECONDS
        races = 0
        pause = 0.01
        while True:
            try:
                with self._connections.connection() as connection:
                    return change.run(connection)
            except DatabaseUnavailableError:
                if time.monotonic() >= give_up_at:
                    raise
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            except psycopg.Error as error:
                races += 1
                if error.sqlstate not in {*RACES, _BORN_TWICE}:
                    raise
                if races > REPEATS:
                    told = " ".join(str(error).split())
                    raise DatabaseUnavailableError(told) from error
            time.sleep(random.uniform(0.0, pause))  # noqa: S311 - spreads a race

    def find(self, tenant_id: str, slug: str) -> Provider | None:
        """See `ProviderBook.find`."""
        with self._connections.connection() as connection:
            return read_provider(connection, tenant_id, slug)

    def all(self) -> tuple[Provider, ...]:
        """See `ProviderBook.all`."""
        with self._connections.connection() as connection:
            return read_providers(connection)


class _Change:
    """One change on its way to be committed, over however many connections."""

    def __init__(self, tenant_id: str, slug: str, decide: Decide, meta: Meta) -> None:
        self._tenant_id = tenant_id
        self._slug = slug
        self._decide = decide
        self._meta = meta
        self._stream: UUID = new_id()
        self._sent: Decided | None = None
        """What was sent before, and may have been committed."""

    def run(self, connection: Connection) -> Done:
        """Return what one turn has done, committed."""
        with transaction(connection):
            lock_provider(connection, self._tenant_id, self._slug)
            if self._sent is not None:
                position = position_of(connection, self._stream)
                if position is not None:
                    return _done(self._sent, position)
            before = self._read(connection)
            decided = self._decide(before)
            if decided is None:
                # Whoever made it so has committed: he has held the same lock.
                provider = None if before is None else before.provider
                return Done(after=provider, event=None, position=last(connection))
            self._sent = decided
            return _done(decided, self._written(connection, before, decided))

    def _read(self, connection: Connection) -> Standing | None:
        """Return the row in a statement after the lock: what its holder has done."""
        provider = read_provider(connection, self._tenant_id, self._slug)
        return None if provider is None else read_standing(connection, provider)

    def _written(
        self, connection: Connection, before: Standing | None, decided: Decided
    ) -> int:
        write_provider(
            connection,
            decided.after,
            is_new=before is None,
            is_given=isinstance(decided.event, CredentialSet | CredentialRotated),
        )
        return remark(
            connection, decided.event, self._meta, self._stream, self._tenant_id
        )


def _done(decided: Decided, position: int) -> Done:
    return Done(after=decided.after, event=decided.event, position=position)
