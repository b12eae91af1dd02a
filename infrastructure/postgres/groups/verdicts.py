"""What an error of the database says about the groups that were written."""

from typing import Final

import psycopg

from application.unit import Refused, Unstorable
from infrastructure.postgres.appending import HeadMissedError
from infrastructure.postgres.database import is_gone

RACES: Final = ("40001", "40P01", "55P03")
"""Serialization failure, deadlock, lock not available in time."""

_MACHINE: Final = ("53", "57", "58", "25006", "XX")
"""Disk full, shutting down, I/O error, read-only, internal: nobody's data is guilty."""


def is_machine(error: psycopg.Error) -> bool:
    """Whether the machine failed, or somebody else was faster: no data is guilty."""
    return is_gone(error) or (error.sqlstate or "").startswith((*_MACHINE, *RACES))


def verdict_on(error: Exception) -> Refused | Unstorable:
    """Return what a group is told whose data alone the database refuses."""
    if isinstance(error, HeadMissedError):
        return Refused("conflict")
    if isinstance(error, psycopg.Error):
        if error.sqlstate == "23505":
            return Refused("conflict")
        if error.sqlstate == "CF409":
            return Refused(error.diag.message_hint or "state_conflict")
        # Not the whole: its details show the row, and what a job was asked with (I12).
        return Unstorable(error.diag.message_primary or type(error).__name__)
    return Unstorable(" ".join(str(error).split()))
