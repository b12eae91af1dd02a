"""Changes providers and records each change (see `ProviderBook`).

lock the row ─► decide ─► write it ─► record ─► COMMIT
   ▲ a submission reads the row under its lock, so once "disabled" is committed
     nothing more is submitted to it
"""

from typing import Final

from application.operators.taken import Telling
from application.providers.book import Decide, Decided, Done, Provider, Standing
from domain.event import JsonObject
from domain.operators.events import CredentialRotated, CredentialSet
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.groups.verdicts import RACES
from infrastructure.providers.registry.rows import (
    lock_provider,
    read_provider,
    read_providers,
    read_standing,
    write_provider,
)
from infrastructure.recording.recorded import Turn, recorded

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
        races = (*RACES, _BORN_TWICE)
        return recorded(self._connections, change.lock, change.make, races=races)

    def find(self, tenant_id: str, slug: str) -> Provider | None:
        """See `ProviderBook.find`."""
        with self._connections.connection() as connection:
            return read_provider(connection, tenant_id, slug)

    def all(self) -> tuple[Provider, ...]:
        """See `ProviderBook.all`."""
        with self._connections.connection() as connection:
            return read_providers(connection)


class _Change:
    """One change of the row of a provider."""

    def __init__(
        self, tenant_id: str, slug: str, decide: Decide, telling: Telling
    ) -> None:
        self._tenant_id = tenant_id
        self._slug = slug
        self._decide = decide
        self._telling = telling

    def lock(self, connection: Connection) -> None:
        lock_provider(connection, self._tenant_id, self._slug)

    def make(self, turn: Turn[Done], _locked: None) -> Done:
        before = self._read(turn.connection)
        decided = self._decide(before)
        if decided is not None:
            self._write(turn.connection, decided, is_new=before is None)
        provider = None if before is None else before.provider
        after = provider if decided is None else decided.after
        event = None if decided is None else decided.event

        def done(position: int) -> Done:
            return Done(after=after, event=event, position=position)

        events = self._telling.events(event, _figures(provider), _figures(after))
        return turn.record(events, self._telling.meta, done, self._tenant_id)

    def _read(self, connection: Connection) -> Standing | None:
        """Return the row in a statement after the lock: what its holder has done."""
        provider = read_provider(connection, self._tenant_id, self._slug)
        return None if provider is None else read_standing(connection, provider)

    def _write(self, connection: Connection, decided: Decided, *, is_new: bool) -> None:
        is_given = isinstance(decided.event, CredentialSet | CredentialRotated)
        write_provider(connection, decided.after, is_new=is_new, is_given=is_given)


def _figures(provider: Provider | None) -> JsonObject:
    return {} if provider is None else provider.figures()
