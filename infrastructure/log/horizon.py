"""How far the log is final, and whether its sequence can be trusted.

A horizon may lie below a follower's cursor (a ticket is taken at a number that
others passed meanwhile): the follower then waits.  It never ignores a ticket
because the ticket lies below its cursor.
"""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final

import psycopg
from psycopg.rows import scalar_row, tuple_row

from infrastructure.errors import ConfigurationError

type Lend = Callable[[], AbstractContextManager[psycopg.Connection[Any]]]
"""Lends a connection outside any transaction, as `Database.connection` does."""

_SEQUENCE: Final = "counterfoil.position_seq"

_HORIZON: Final = "SELECT counterfoil.horizon()"

_LAST_AND_HIGHEST: Final = """
SELECT counterfoil.last_position(),
       (SELECT coalesce(max(position), 0) FROM counterfoil.events)
"""


def fetch_horizon(connection: psycopg.Connection[Any]) -> int:
    """Return the position up to which a *later* statement misses nothing.

    The later statement needs a snapshot of its own, taken after this one: under
    REPEATABLE READ and above the answer means nothing.
    """
    with connection.cursor(row_factory=scalar_row) as cursor:
        position: int | None = cursor.execute(_HORIZON, prepare=True).fetchone()
    # The sequence was called once by the first migration: there always is a number.
    return position or 0


class Horizon:
    """The horizon of one database, shared by all followers of a process."""

    def __init__(self, lend: Lend) -> None:
        """Take where to borrow a connection for each look."""
        self._lend = lend
        self._turn = threading.Lock()
        self._began_at = float("-inf")
        self._position = 0
        self._highest = 0

    @property
    def highest(self) -> int:
        """The highest position that any look found final: it stays final for ever."""
        return self._highest

    def current(self) -> int:
        """Return a horizon that was looked up after this call began.

        Followers that ask at the same time share one look: whoever waited for its
        turn takes the answer of a look that began after it had asked.
        """
        asked_at = time.monotonic()
        with self._turn:
            if self._began_at <= asked_at:
                began_at = time.monotonic()
                with self._lend() as connection:
                    self._position = fetch_horizon(connection)
                self._began_at = began_at
                self._highest = max(self._highest, self._position)
            return self._position


def require_positions_ahead(connection: psycopg.Connection[Any]) -> None:
    """Refuse a log whose sequence would hand out numbers that were used already.

    To be asked at every start: a failover or a partial restore can leave the
    sequence behind, and then the horizon and the order mean nothing.

    Raises:
        ConfigurationError: the sequence is behind the highest position.
    """
    with connection.cursor(row_factory=tuple_row) as cursor:
        (row,) = cursor.execute(_LAST_AND_HIGHEST).fetchall()
    last, highest = row
    if last < highest:
        raise ConfigurationError(
            _SEQUENCE,
            f"the log reaches position {highest}, its sequence only {last}",
            "stop every process and set the sequence to at least "
            f"{highest} with setval, after finding out what set it back",
        )
