"""One change of a guard's row, committed once, however many turns that takes."""

import random
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

import psycopg

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import RACES, REPEATS, Connections
from infrastructure.postgres.database import Connection
from infrastructure.projecting.remarks import position_of

_PATIENCE_SECONDS: Final = 10.0
_LONGEST_PAUSE_SECONDS: Final = 1.0

type Change = Callable[[Connection], int | None]
"""Commits one turn; returns the position of its remark, None when it was so already.

It takes the row's lock first, so whatever an earlier turn has sent is there by then.
"""


def committed(connections: Connections, change: Change, stream: UUID) -> int | None:
    """Return the position of the remark `stream`; None: it was so already.

    Raises:
        DatabaseUnavailableError: nothing is known to be done.
    """
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    races, pause, is_in_doubt = 0, 0.01, False
    while True:
        try:
            with connections.connection() as connection:
                position = change(connection)
                if position is None and is_in_doubt:
                    # What was sent before may have made it so.
                    return position_of(connection, stream)
                return position
        except DatabaseUnavailableError:
            is_in_doubt = True
            if time.monotonic() >= give_up_at:
                raise
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        except psycopg.Error as error:
            races += 1
            if error.sqlstate not in RACES:
                raise
            if races > REPEATS:
                told = " ".join(str(error).split())
                raise DatabaseUnavailableError(told) from error
        time.sleep(random.uniform(0.0, pause))  # noqa: S311 - spreads a race
