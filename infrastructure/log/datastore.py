"""The library's datastore over our own pool: one pool, one kind of connection.

What the library's recorders do over it commits, waits and fails as everything else
does; its own settings (pool, timeouts, schema) mean nothing here.
"""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Protocol, cast, override

import psycopg
from eventsourcing import persistence
from eventsourcing.postgres import PostgresDatastore
from psycopg.rows import DictRow, dict_row

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres import database

_IN_ITS_WORDS: Final[tuple[tuple[type[psycopg.Error], type[Exception]], ...]] = (
    (psycopg.InterfaceError, persistence.InterfaceError),
    (psycopg.OperationalError, persistence.OperationalError),
    (psycopg.DataError, persistence.DataError),
    (psycopg.IntegrityError, persistence.IntegrityError),
    (psycopg.InternalError, persistence.InternalError),
    (psycopg.ProgrammingError, persistence.ProgrammingError),
    (psycopg.NotSupportedError, persistence.NotSupportedError),
)


class LogUnavailableError(DatabaseUnavailableError, persistence.OperationalError):
    """The database is away: in our words, and in those that the library repeats."""


class Pool(Protocol):
    """Lends connections of our make."""

    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """Lend an autocommit connection outside any transaction."""
        ...


class PooledDatastore(PostgresDatastore):
    """Lends the library connections of ours; closing it closes nothing."""

    def __init__(self, pool: Pool) -> None:
        """Take the pool; the library's own is never made."""
        self._ours = pool
        self.schema = "counterfoil"
        self.originator_id_type = "uuid"
        self.single_row_tracking = True
        self.enable_db_functions = False
        self.lock_timeout = 0
        self.db_type_names = set[str]()
        self.psycopg_type_adapters = {}
        self.psycopg_python_types = {}

    @contextmanager
    @override
    def get_connection(self) -> Generator[psycopg.Connection[DictRow]]:
        """Lend a connection whose rows are dicts.

        Raises:
            LogUnavailableError: none could be had, or it was lost.
        """
        try:
            with self._ours.connection() as connection:
                before, connection.row_factory = connection.row_factory, dict_row
                try:
                    yield connection
                finally:
                    connection.row_factory = before
        except DatabaseUnavailableError as error:
            raise LogUnavailableError(error.detail) from error
        except psycopg.Error as error:
            raise _in_its_words(error) from error

    @contextmanager
    @override
    def transaction(
        self, *, commit: bool = False
    ) -> Generator[psycopg.Cursor[DictRow]]:
        """Lend a cursor in a transaction with our limits."""
        with self.get_connection() as connection:
            if commit:
                with database.transaction(cast("database.Connection", connection)):
                    yield connection.cursor()
            else:
                with connection.transaction(force_rollback=True):
                    yield connection.cursor()

    @override
    def close(self) -> None:
        """Do nothing: the pool is not the library's."""


def _in_its_words(error: psycopg.Error) -> Exception:
    for ours, its in _IN_ITS_WORDS:
        if issubclass(type(error), ours):
            return its(str(error))
    return persistence.DatabaseError(str(error))
