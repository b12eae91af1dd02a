"""Applies migrations: forward only, each in one transaction, one migrator at a time.

    no schema ─────────────────► apply all
    bookkeeping there ─────────► compare checksums, apply what is pending
    schema, no bookkeeping ────► adopt it if it is the one we make, else refuse

Whoever works holds a transaction-level advisory lock, so this works through
PgBouncer in transaction mode, and the lock is free the moment its holder dies.
A file and its entry in `counterfoil.schema_migrations` commit together: a kill at
any point leaves a database on which the migrator simply runs again.
"""

import random
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from psycopg.errors import DeadlockDetected, LockNotAvailable

from infrastructure.errors import (
    ChangedMigrationError,
    MigrationBusyError,
    SchemaTooNewError,
    SchemaTooOldError,
)
from infrastructure.postgres.adoption import require_ours
from infrastructure.postgres.database import (
    Connection,
    connect,
    transaction,
    unavailable_in_our_words,
)
from infrastructure.postgres.migration_files import (
    Migration,
    migrations_folder,
    read_migrations,
)
from infrastructure.postgres.migration_run import give_time, run
from infrastructure.postgres.schema_description import describe

TRIES: Final = 10
_LONGEST_PAUSE_SECONDS: Final = 1.0

_ONE_MIGRATOR: Final = """
SELECT pg_advisory_xact_lock(hashtextextended('counterfoil.schema_migrations', 0))
"""

# Looked up in the catalog: to_regclass() may answer from what this session knew
# before it waited for the lock (two migrators at once).  Other tools keep books of
# this name too, without checksums.
_IS_MANAGED: Final = """
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
     WHERE n.nspname = 'counterfoil'
       AND c.relname = 'schema_migrations'
       AND a.attname = 'checksum')
"""

_CREATE_BOOKKEEPING: Final = """
CREATE TABLE IF NOT EXISTS counterfoil.schema_migrations (
    number     integer     NOT NULL,
    name       text        NOT NULL,
    checksum   text        NOT NULL,
    applied_at timestamptz NOT NULL,
    adopted    boolean     NOT NULL,
    CONSTRAINT schema_migrations_pkey PRIMARY KEY (number)
)
"""

_APPLIED: Final = """
SELECT number, name, checksum
  FROM counterfoil.schema_migrations
 ORDER BY number
"""

_RECORD: Final = """
INSERT INTO counterfoil.schema_migrations (number, name, checksum, applied_at, adopted)
VALUES (%(number)s, %(name)s, %(checksum)s, counterfoil.now(), %(adopted)s)
"""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Where a database stands; names are those of the files, in order."""

    newest: str
    """The last migration that this version brings."""
    applied: tuple[str, ...]
    """Migrations that the database had when we came."""
    pending: tuple[str, ...]
    """Migrations that it still lacks."""
    done: tuple[str, ...] = ()
    """Migrations that this run applied, or entered for an adopted schema."""
    adopted: bool = False
    """True when the schema had been made by hand, and is managed from now on."""


def migrate(conninfo: str, folder: Path | None = None) -> Report:
    """Bring the database to this version's schema; repeat it after any failure.

    Raises:
        SchemaTooNewError: a newer version has migrated it.
        ChangedMigrationError: an applied file has changed since.
        SchemaDiffersError: an unmanaged schema is not the one we make.
        MigrationBusyError: locks were held by others all the time.
        MigrationFailedError: the database refused a file.
        DatabaseUnavailableError: no connection, or it was lost on the way.
    """
    migrations = read_migrations(folder or migrations_folder())
    with unavailable_in_our_words(), closing(connect(conninfo)) as connection:
        before = _applied(connection, migrations)
        adopt = partial(_adopt, connection, conninfo, migrations)
        adopted = _patiently("adoption", adopt)
        done = [
            migration.name
            for migration in migrations[len(before) :]
            if adopted
            or _patiently(
                migration.name, partial(_apply, connection, migration, migrations)
            )
        ]
    return Report(
        newest=migrations[-1].name,
        applied=before,
        pending=(),
        done=tuple(done),
        adopted=adopted,
    )


def _patiently(what: str, attempt: Callable[[], bool]) -> bool:
    """Return what `attempt` does, tried again while others hold its locks."""
    for _ in range(TRIES):
        try:
            return attempt()
        except (LockNotAvailable, DeadlockDetected):
            pause = random.uniform(0, _LONGEST_PAUSE_SECONDS)  # noqa: S311 - jitter
            threading.Event().wait(pause)
    raise MigrationBusyError(what, TRIES)


def _adopt(
    connection: Connection, conninfo: str, migrations: Sequence[Migration]
) -> bool:
    """Return True when a schema was there without bookkeeping, and is ours now."""
    with transaction(connection):
        connection.execute(_ONE_MIGRATOR)
        if _is_managed(connection):
            return False
        give_time(connection)
        found = describe(connection)
        if not found:
            return False
        require_ours(found, conninfo, migrations)
        for migration in migrations:
            _record(connection, migration, adopted=True)
    return True


def _apply(
    connection: Connection, migration: Migration, migrations: Sequence[Migration]
) -> bool:
    """Return True when the file was run; False when another migrator has done it."""
    with transaction(connection):
        connection.execute(_ONE_MIGRATOR)
        if migration.name in _applied(connection, migrations):
            return False
        run(connection, migration)
        _record(connection, migration, adopted=False)
    return True


def _record(connection: Connection, migration: Migration, *, adopted: bool) -> None:
    # After the first file: the schema and its clock are there.
    connection.execute(_CREATE_BOOKKEEPING)
    connection.execute(
        _RECORD,
        {
            "number": migration.number,
            "name": migration.name,
            "checksum": migration.checksum,
            "adopted": adopted,
        },
    )


def check(conninfo: str, folder: Path | None = None) -> Report:
    """Return where the database stands, and change nothing.

    Raises:
        SchemaTooNewError: a newer version has migrated it.
        ChangedMigrationError: an applied file has changed since.
        DatabaseUnavailableError: no connection, or it was lost on the way.
    """
    migrations = read_migrations(folder or migrations_folder())
    with unavailable_in_our_words(), closing(connect(conninfo)) as connection:
        applied = _applied(connection, migrations)
    names = tuple(migration.name for migration in migrations)
    return Report(newest=names[-1], applied=applied, pending=names[len(applied) :])


def require_current(conninfo: str, folder: Path | None = None) -> None:
    """Refuse a database that is not at exactly this version's schema.

    Raises:
        SchemaTooOldError: migrations are pending.
        SchemaTooNewError: a newer version has migrated it.
        ChangedMigrationError: an applied file has changed since.
        DatabaseUnavailableError: no connection, or it was lost on the way.
    """
    report = check(conninfo, folder)
    if report.pending:
        raise SchemaTooOldError(report.pending)


def _applied(
    connection: Connection, migrations: Sequence[Migration]
) -> tuple[str, ...]:
    """Return the names of the applied migrations, which are a prefix of ours."""
    if not _is_managed(connection):
        return ()
    entries = connection.execute(_APPLIED).fetchall()
    if len(entries) > len(migrations):
        raise SchemaTooNewError(str(entries[-1][1]), migrations[-1].name)
    for (number, name, checksum), ours in zip(entries, migrations, strict=False):
        if (number, name) != (ours.number, ours.name):
            raise ChangedMigrationError(ours.name, f"{name} was applied in its place")
        if checksum != ours.checksum:
            raise ChangedMigrationError(ours.name, "its text was another when applied")
    return tuple(str(name) for _, name, _ in entries)


def _is_managed(connection: Connection) -> bool:
    return connection.execute(_IS_MANAGED).fetchone() == (True,)
