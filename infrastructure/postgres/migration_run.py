"""One migration, run inside a transaction that the caller began."""

from typing import Final

import psycopg
from psycopg.errors import DeadlockDetected, LockNotAvailable

from infrastructure.errors import MigrationFailedError
from infrastructure.postgres.database import Connection, is_gone
from infrastructure.postgres.migration_files import Migration

# The server looks after us once a second: a killed migrator's statement ends then,
# and with it its locks, not after a minute.
_GIVE_TIME: Final = """
SET LOCAL client_connection_check_interval = '1s';
SET LOCAL statement_timeout = '60s';
SET LOCAL idle_in_transaction_session_timeout = '60s'
"""

# Every name in a migration says its schema, so no role's search path matters.
_PREPARE: Final = """
SET LOCAL search_path = pg_catalog;
CREATE SCHEMA IF NOT EXISTS counterfoil
"""


def give_time(connection: Connection) -> None:
    """Allow this transaction what migrating may take; locks are still short."""
    connection.execute(_GIVE_TIME)


def run(connection: Connection, migration: Migration) -> None:
    """Run the file; the schema is there before the first one.

    Raises:
        MigrationFailedError: the database refused it.
        LockNotAvailable, DeadlockDetected: others were in the way; try again.
    """
    give_time(connection)
    connection.execute(_PREPARE)
    try:
        connection.execute(migration.sql)
    except (LockNotAvailable, DeadlockDetected):
        raise
    except psycopg.Error as error:
        if is_gone(error):
            raise
        raise MigrationFailedError(migration.name, _where(migration, error)) from error


def _where(migration: Migration, error: psycopg.Error) -> str:
    """Return the database's words with the line of the file."""
    told = error.diag.message_primary or str(error)
    if error.diag.statement_position is None:
        return told
    before = migration.sql.decode("utf-8", "replace")[
        : int(error.diag.statement_position)
    ]
    return f"line {before.count('\n') + 1}: {told}"
