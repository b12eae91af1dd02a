"""Changes providers and records each change (see `ProviderBook`).

lock the row ─► decide ─► write it ─► remark ─► COMMIT
   ▲ a submission reads the row under its lock, so once "disabled" is committed
   │ nothing more is submitted to it
   └── answer lost: new connection, the same lock, look for the remark
"""

import random
import time
from typing import TYPE_CHECKING, Final

import msgspec
import psycopg

from application.operators.taken import Telling
from application.providers.book import Decide, Decided, Done, Provider, Standing
from domain.event import JsonObject
from domain.operators.events import CredentialRotated, CredentialSet
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import REPEATS, Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.groups.verdicts import RACES
from infrastructure.projecting.remarks import position_of, remark
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

    def change(
        self, tenant_id: str, slug: str, decide: Decide, telling: Telling
    ) -> Done:
        """See `ProviderBook.change`."""
        change = _Change(tenant_id, slug, decide, telling)
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

    def __init__(
        self, tenant_id: str, slug: str, decide: Decide, telling: Telling
    ) -> None:
        self._tenant_id = tenant_id
        self._slug = slug
        self._decide = decide
        self._telling = telling
        self._stream: UUID = new_id()
        self._sent: Done | None = None
        """What was sent before, and may have been committed."""

    def run(self, connection: Connection) -> Done:
        """Return what one turn has done, committed."""
        with transaction(connection):
            lock_provider(connection, self._tenant_id, self._slug)
            if self._sent is not None:
                position = position_of(connection, self._stream)
                if position is not None:
                    return msgspec.structs.replace(self._sent, position=position)
            before = self._read(connection)
            decided = self._decide(before)
            if decided is not None:
                self._write(connection, decided, is_new=before is None)
            provider = None if before is None else before.provider
            after = provider if decided is None else decided.after
            event = None if decided is None else decided.event
            figures = _figures(provider), _figures(after)
            self._sent = Done(after=after, event=event, position=0)
            position = remark(
                connection,
                self._telling.events(event, *figures),
                self._telling.meta,
                self._stream,
                self._tenant_id,
            )
            return msgspec.structs.replace(self._sent, position=position)

    def _read(self, connection: Connection) -> Standing | None:
        """Return the row in a statement after the lock: what its holder has done."""
        provider = read_provider(connection, self._tenant_id, self._slug)
        return None if provider is None else read_standing(connection, provider)

    def _write(self, connection: Connection, decided: Decided, *, is_new: bool) -> None:
        is_given = isinstance(decided.event, CredentialSet | CredentialRotated)
        write_provider(connection, decided.after, is_new=is_new, is_given=is_given)


def _figures(provider: Provider | None) -> JsonObject:
    return {} if provider is None else provider.figures()
