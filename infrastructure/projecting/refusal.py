"""What an error of a batch means: data that is refused, a lost race, or the machine."""

from typing import Final

import psycopg

from infrastructure.errors import DatabaseUnavailableError, InfrastructureError
from infrastructure.projecting.table import ReadModelMismatchError, UnwritableError

_DATA: Final = ("21", "22", "23", "54")
"""Cardinality, value, constraint, limit: some row of the batch is guilty."""

_RACES: Final = ("40001", "40P01")
"""Serialization failure, deadlock."""

_MACHINE: Final = ("53", "57", "58", "25006", "XX")
"""Disk full, shutting down, I/O error, read-only, internal: nobody's data is guilty."""

_SCHEMA: Final = "42"
"""A table or a right is missing."""


class ProjectingError(InfrastructureError):
    """PostgreSQL refused a batch for a reason that is none of its data's."""

    code = "projecting"

    def __init__(self, projection: str, detail: str) -> None:
        """Name the projection and what PostgreSQL said, without any row."""
        self.projection = projection
        self.detail = detail
        super().__init__(f"projection {projection}: {detail}")


def refusal(error: Exception) -> str | None:
    """Return why a row was refused; None: no row is to blame."""
    if isinstance(error, UnwritableError):
        return f"a row holds what its column cannot: {error}"
    if isinstance(error, psycopg.Error):
        state = error.sqlstate or ""
        # DataError without a state: the driver itself refused a value.
        if state.startswith(_DATA) or (
            not state and isinstance(error, psycopg.DataError)
        ):
            return _told(error)
    return None


def is_race(error: psycopg.Error) -> bool:
    """Return whether the same batch may go through when it is tried again."""
    return error.sqlstate in _RACES


def in_our_words(
    error: psycopg.Error, projection: str, table: str
) -> InfrastructureError:
    """Return an error of PostgreSQL that is neither a refusal nor a race, as ours."""
    state = error.sqlstate or ""
    if state.startswith((*_MACHINE, *_RACES, "55P03")):
        return DatabaseUnavailableError(_told(error))
    if state.startswith(_SCHEMA):
        return ReadModelMismatchError(table, _told(error))
    return ProjectingError(projection, _told(error))


def _told(error: psycopg.Error) -> str:
    # Not the whole: its details show the row (I12).
    return error.diag.message_primary or type(error).__name__
