"""What is checked before a process calls itself ready, or started."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psycopg

from infrastructure.errors import DatabaseUnavailableError, MigrationError
from infrastructure.listening.check import Check, Flaw
from infrastructure.postgres import migrator
from infrastructure.postgres.database import Connection, Database, connect

EXHAUSTED_SECONDS: Final = 5.0
"""A pool for whose connections somebody waits for longer is exhausted."""


def database(conninfo: str) -> Check:
    """Return the check whether the database answers, over a connection of its own."""
    return Check("database", _Asking(conninfo))


def pool(lender: Database) -> Check:
    """Return the check whether the pool still lends connections."""

    def look() -> Flaw | None:
        waits = lender.longest_wait() > EXHAUSTED_SECONDS
        return Flaw.UNAVAILABLE if waits else None

    return Check("pool", look)


def part(name: str, is_ready: Callable[[], bool]) -> Check:
    """Return the check of a part that knows itself whether it is ready."""
    return Check(name, lambda: None if is_ready() else Flaw.UNAVAILABLE)


def schema(conninfo: str) -> Check:
    """Return the check whether the database's schema is this version's."""

    def look() -> Flaw | None:
        try:
            migrator.require_current(conninfo)
        except DatabaseUnavailableError:
            return Flaw.UNAVAILABLE
        except MigrationError:
            return Flaw.OUTDATED
        return None

    return Check("schema", look)


class _Asking:
    """Asks over a connection that is kept, and made anew when it was lost."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: Connection | None = None

    def __call__(self) -> Flaw | None:
        kept, self._connection = self._connection, None
        with suppress(psycopg.Error, DatabaseUnavailableError):
            self._connection = self._answered(kept)
        if self._connection is None and kept is not None:
            # A stale connection is no outage.
            with suppress(psycopg.Error, DatabaseUnavailableError):
                self._connection = self._answered(None)
        return Flaw.UNAVAILABLE if self._connection is None else None

    def _answered(self, kept: Connection | None) -> Connection:
        connection = kept or connect(
            self._conninfo, application_name="counterfoil probe"
        )
        try:
            connection.execute("SELECT 1")
        except BaseException:
            connection.close()
            raise
        return connection
