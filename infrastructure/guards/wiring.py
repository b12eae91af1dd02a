"""The restore guard of one process, wired over its database and its host's journal."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from application.goods.port import Providers
from application.operators.quarantine import Quarantining
from application.providers.limiting import LimitProviders
from application.unit import UnitOfWork
from domain.event import Actor
from domain.goods.health import PATIENCE, Patience
from infrastructure.guards.balances import BalanceWatch
from infrastructure.guards.journal import FileJournal
from infrastructure.guards.limits import PostgresLimitBook
from infrastructure.guards.looking import ConnectionLook
from infrastructure.guards.marking import Marker
from infrastructure.guards.money import MoneyGuards
from infrastructure.guards.quarantine import PostgresRestoreGuard
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import connect, unavailable_in_our_words
from infrastructure.processor.worker import Round

_KEEP_PLACE: Final = "SELECT counterfoil.keep_place()"


def keep_place(conninfo: str) -> None:
    """Store where a new database is, before anything is bought.

    Raises:
        DatabaseUnavailableError: no connection, or it was lost on the way.
    """
    with unavailable_in_our_words(), closing(connect(conninfo)) as connection:
        connection.execute(_KEEP_PLACE)


@dataclass(frozen=True, slots=True)
class Guarding:
    """What one process guards with, before it has a pool."""

    journal: FileJournal
    look: ConnectionLook
    actor: Actor

    @classmethod
    def of(cls, folder: Path, actor: Actor) -> "Guarding":
        """Return what guards with the journal that lies in `folder`."""
        journal = FileJournal(folder)
        return cls(journal, ConnectionLook(journal, actor), actor)

    def quarantining(self, connections: Connections, units: UnitOfWork) -> Quarantining:
        """Return what engages and releases on behalf of people."""
        return Quarantining(
            guard=PostgresRestoreGuard(connections),
            look=lambda: self.look_through(connections),
            mark=Marker(connections, units, self.actor).round,
            units=units,
            ids=new_id,
        )

    def rounds(self, connections: Connections, units: UnitOfWork) -> tuple[Round, ...]:
        """Return what a worker does beside its jobs."""
        return (
            ("restore guard", lambda: self.look_through(connections)),
            ("marking", Marker(connections, units, self.actor).round),
        )

    def money(
        self, connections: Connections, patience: Patience = PATIENCE
    ) -> MoneyGuards:
        """Return what guards this process's purchases."""
        return MoneyGuards(connections, self.journal, self.look, patience)

    def limits(self, connections: Connections, units: UnitOfWork) -> LimitProviders:
        """Return what sets limits on behalf of people."""
        return LimitProviders(PostgresLimitBook(connections), units, new_id)

    def balances(self, connections: Connections, providers: Providers) -> Round:
        """Return what a worker that can open credentials does beside its jobs."""
        watch = BalanceWatch(connections, providers, self.actor)
        return ("balances", watch.round)

    def look_through(self, connections: Connections) -> bool:
        """Return whether anything new spoke for a restore, and was engaged.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        with connections.connection() as connection:
            try:
                return self.look.look(connection)
            except psycopg.errors.ReadOnlySqlTransaction:
                return False  # a standby: nothing is bought over it either
