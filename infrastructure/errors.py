"""Errors of the machine: settings, the database, and its schema.

InfrastructureError             the machine failed
├── ConfigurationError          a setting is wrong; the process stops at start
├── ExtensionError              what another package brings cannot be used
├── DatabaseUnavailableError    no answer from PostgreSQL; later may be better
│   └── CommitUnknownError      COMMIT was sent and its answer was lost
└── MigrationError              the schema is not what this version needs
    ├── SchemaTooOldError           migrations are pending
    ├── SchemaTooNewError           the database was migrated by a newer version
    ├── ChangedMigrationError       a file that was applied has changed since
    ├── MigrationBusyError          locks were held for too long
    ├── MigrationFailedError        the database refused a file
    └── SchemaDiffersError          an unmanaged schema is not the one we make
"""

import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

import psycopg

from domain.errors import CounterfoilError


def place_of(trace: TracebackType | None) -> str:
    """Return the file and line in which something was raised; empty if unknown."""
    frames = traceback.extract_tb(trace)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def where(error: BaseException) -> str:
    """Return the kind and place of a fault; its message may hold a secret (I12)."""
    place = place_of(error.__traceback__)
    return f"{name_of(error)} at {place}" if place else name_of(error)


def said(error: BaseException) -> str:
    """Return the kind of an exception and what it says, as far as it can say anything.

    One of somebody's own make may raise anything while it is shown.
    """
    try:
        return f"{name_of(error)}: {error}"
    except BaseException:  # noqa: BLE001 - see above
        return name_of(error)


def name_of(error: BaseException) -> str:
    """Return the name of an exception's class, which its metaclass cannot hide."""
    return str(type.__dict__["__name__"].__get__(type(error)))


class InfrastructureError(CounterfoilError):
    """The machine failed; no rule was broken."""

    code = "infrastructure"


class ConfigurationError(InfrastructureError):
    """A setting or the installation is wrong; the process must not start."""

    code = "configuration"

    def __init__(self, setting: str, problem: str, remedy: str) -> None:
        """Name the setting, what is wrong with it, and what to do about it."""
        self.setting = setting
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{setting}: {problem}; {remedy}")


class ExtensionError(InfrastructureError):
    """An entry point of another package cannot be used; no worker may start."""

    code = "extension"

    def __init__(self, package: str, entry: str, problem: str, remedy: str) -> None:
        """Name the package and its entry, what is wrong, and what to do about it."""
        self.package = package
        self.entry = entry
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"package {package}, entry point {entry}: {problem}; {remedy}")


class DatabaseUnavailableError(InfrastructureError):
    """PostgreSQL cannot be reached, or ended the connection."""

    code = "database_unavailable"

    def __init__(self, detail: str) -> None:
        """Keep what the driver or the server said, without any secret."""
        self.detail = detail
        super().__init__(f"the database is not available: {detail}")


class CommitUnknownError(DatabaseUnavailableError):
    """The connection ended while COMMIT was under way: it may have happened."""

    code = "commit_unknown"


class MigrationError(InfrastructureError):
    """The schema is not the one that this version works with."""

    code = "migration"


class SchemaTooOldError(MigrationError):
    """Migrations of this version have not been applied yet."""

    code = "schema_too_old"

    def __init__(self, pending: tuple[str, ...]) -> None:
        """Name the files that are still to be applied, in order."""
        self.pending = pending
        names = ", ".join(pending)
        super().__init__(
            f"the database lacks {len(pending)} migration(s) ({names}); "
            "run `counterfoil migrate`"
        )


class SchemaTooNewError(MigrationError):
    """The database was migrated by a newer version than this one."""

    code = "schema_too_new"

    def __init__(self, database: str, newest: str) -> None:
        """Name the newest migration of the database and of this version."""
        self.database = database
        self.newest = newest
        super().__init__(
            f"the database is at migration {database}, this version knows only "
            f"{newest}; start the version that migrated it, or a later one"
        )


class ChangedMigrationError(MigrationError):
    """A migration that was applied differs from the file of that number."""

    code = "migration_changed"

    def __init__(self, file: str, detail: str) -> None:
        """Name the file and how it differs from what was applied."""
        self.file = file
        self.detail = detail
        super().__init__(
            f"{file}: {detail}; applied migrations never change, so restore "
            "the file and put the change into a new number"
        )


class MigrationBusyError(MigrationError):
    """A lock was held by others during every try."""

    code = "migration_busy"

    def __init__(self, what: str, tries: int) -> None:
        """Name what was waited for and how many tries were made."""
        self.what = what
        self.tries = tries
        super().__init__(
            f"{what}: a lock was not free in {tries} tries; another migrator or "
            "a long transaction holds it. Nothing was changed; try again later"
        )


class MigrationFailedError(MigrationError):
    """The database refused a migration; its transaction was rolled back."""

    code = "migration_failed"

    def __init__(self, file: str, detail: str) -> None:
        """Name the file and what the database said."""
        self.file = file
        self.detail = detail
        super().__init__(f"{file} was rolled back whole: {detail}")


class SchemaDiffersError(MigrationError):
    """A schema `counterfoil` without bookkeeping cannot be adopted."""

    code = "schema_differs"

    def __init__(self, reason: str, difference: tuple[str, ...]) -> None:
        """Say why, and list the difference, one object a line."""
        self.reason = reason
        self.difference = difference
        super().__init__("\n".join((reason, *difference)))


_LOOK_AT_ITS_LOG: Final = "its log says more"
_NOT_OURS: Final = "this schema is not whole; restore it, or give another database"
_REMEDIES: Final[Mapping[str, str]] = {
    "42501": "look at the rights of this role",
    "25006": "give a server that takes writes",
    "3F000": _NOT_OURS,
    "42P01": _NOT_OURS,
    "42703": _NOT_OURS,
    "42883": _NOT_OURS,
}
"""What can be done about SQLSTATEs of which that can be said."""


@contextmanager
def refusals_in_our_words() -> Generator[None]:
    """Turn what PostgreSQL refuses into our error, in one sentence with a remedy.

    Raises:
        InfrastructureError: see there; other errors pass unchanged.
    """
    try:
        yield
    except psycopg.Error as error:
        told = error.diag.message_primary or type(error).__name__
        remedy = _REMEDIES.get(error.sqlstate or "", _LOOK_AT_ITS_LOG)
        msg = f"the database refused: {told}; {remedy}"
        raise InfrastructureError(msg) from error


_BUSY: Final = frozenset({"40001", "40P01", "55P03", "57014"})
"""Serialization failure, deadlock, a lock not free, a statement that took too long."""


def translated(error: Exception) -> CounterfoilError | None:
    """Return an error of the driver in our words; None: it is a fault of ours."""
    if isinstance(error, CounterfoilError):
        return error
    if isinstance(error, psycopg.OperationalError) or (
        isinstance(error, psycopg.Error) and error.sqlstate in _BUSY
    ):
        return DatabaseUnavailableError(type(error).__name__)
    return None
