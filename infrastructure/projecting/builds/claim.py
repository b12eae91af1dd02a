"""One builder of a projection at a time: a role that is held while a process lives.

The role spares work; that a build is right whoever is at it follows from its
checkpoint, which moves only from where its batch began.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import Final

import psycopg

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.leadership import STAND_SECONDS, Leadership, holder_of
from infrastructure.postgres.database import Connection, Database
from infrastructure.postgres.heads.table import instant, text
from infrastructure.processor.identity import this_process
from infrastructure.projecting.builds.errors import (
    BuildBusyError,
    BuildHeldError,
    BuildLostError,
)

_LOOK_SECONDS: Final = 0.2

_HOLD: Final = """
SELECT l.holder::text, l.expires_at, p.build_began_at
  FROM counterfoil.leadership l
  LEFT JOIN counterfoil.projections p ON p.name = %(name)s
 WHERE l.role = %(role)s
"""


class Claim:
    """The role, as the thread of a build sees it."""

    def __init__(self, name: str, leadership: Leadership, role: str) -> None:
        """Take a leadership that another thread keeps up."""
        self.name = name
        self._leadership = leadership
        self._role = role

    def require(self) -> None:
        """Return while no other process can be at it.

        Raises:
            BuildLostError: this one was frozen or cut off for too long.
        """
        pause = threading.Event()
        give_up_at = time.monotonic() + 2 * STAND_SECONDS
        while self._role not in self._leadership.held:
            if time.monotonic() >= give_up_at:
                raise BuildLostError(self.name)
            pause.wait(_LOOK_SECONDS)


@contextmanager
def claimed(
    database: Database, name: str, waits: Callable[[], None]
) -> Generator[Claim]:
    """Hold the role of the builder of `name`.

    A holder that was killed is waited for, until its time is over; `waits` is called
    when that begins.

    Raises:
        BuildHeldError: another process holds it, and lives.
        BuildBusyError: what was to be done met a lock for too long.
        DatabaseUnavailableError: nothing is known.
    """
    role = f"build:{name}"
    leadership = Leadership(this_process())
    with closing(database.connect()) as connection:
        _take(connection, leadership, role, name, waits)
        stop = threading.Event()
        keeper = threading.Thread(
            target=_keep,
            args=(database, connection, leadership, role, stop),
            name=role,
        )
        try:
            keeper.start()
            yield Claim(name, leadership, role)
        except psycopg.errors.LockNotAvailable as error:
            raise BuildBusyError(name) from error
        finally:
            stop.set()
            keeper.join()


def _take(
    connection: Connection,
    leadership: Leadership,
    role: str,
    name: str,
    waits: Callable[[], None],
) -> None:
    pause = threading.Event()
    seen: tuple[str, object] | None = None
    while not _stands(connection, leadership, role):
        row = connection.execute(_HOLD, {"name": name, "role": role}).fetchone()
        if row is not None:
            now = (text(row[0]), row[1])
            if seen is None:
                waits()
            elif now != seen:
                raise _held(connection, role, name, row[2])
            seen = now
        pause.wait(_LOOK_SECONDS)


def _stands(connection: Connection, leadership: Leadership, role: str) -> bool:
    try:
        return role in leadership.stand(connection, [role])
    except psycopg.errors.LockNotAvailable:
        return False


def _held(
    connection: Connection, role: str, name: str, since: object
) -> BuildHeldError:
    holder = holder_of(connection, role)
    who = "another process" if holder is None else f"{holder.host}, pid {holder.pid}"
    told = "" if since is None else f" since {instant(since):%Y-%m-%d %H:%M:%SZ}"
    return BuildHeldError(name, who, told)


def _keep(
    database: Database,
    connection: Connection,
    leadership: Leadership,
    role: str,
    stop: threading.Event,
) -> None:
    """Renew the role until `stop`, over new connections if need be; then release it."""
    own: Connection | None = connection
    while not stop.wait(STAND_SECONDS):
        try:
            own = own or database.connect()
            _stands(own, leadership, role)
        except DatabaseUnavailableError:
            own = None
    try:
        if own is not None:
            leadership.release(own)
    except (DatabaseUnavailableError, psycopg.Error):
        return  # it ends by itself
    finally:
        if own is not None and own is not connection:
            own.close()
