"""Wait until a read model is at a position of the log, or say why it will not be.

    asked for ──► beyond the log ──────────────► refused at once
              ├─► paused, or of other code ────► told at once
              ├─► seen ──► done
              └─► not in time ──► how far it is, who holds it back, what to do

Nothing is lent while it sleeps, and each look finds the live slot anew: a swap in
between is followed.
"""

import time
from functools import partial
from threading import Event
from typing import Final, override

import msgspec
from eventsourcing.persistence import (
    ProgrammingError,
    Tracking,
    TrackingRecorder,
    WaitInterruptedError,
)
from psycopg.rows import class_row, scalar_row

from domain.event import Instant
from infrastructure.log.horizon import Lend
from infrastructure.projecting.behind import (
    NotReachedError,
    OutdatedError,
    PausedError,
    PositionAheadError,
    why_behind,
)
from projections.read_models.all import BY_NAME
from projections.read_models.slots import FOLLOWED
from projections.reading import AtLeast, UnknownProjectionError

PATIENCE_SECONDS: Final = 30.0
"""Longer than another process needs to take over from one that is gone."""

_FIRST_PAUSE_SECONDS: Final = 0.005  # a projector that is awake is that far behind
_LONGEST_PAUSE_SECONDS: Final = 0.25

_LOOK: Final = """
SELECT coalesce(c.position, 0) AS position, p.schema, p.paused_at, p.paused_by,
       p.paused_reason
  FROM counterfoil.projections p
  LEFT JOIN counterfoil.checkpoints c
         ON c.name = p.name || '_' || p.live || ':' || %(followed)s
 WHERE p.name = %(name)s
"""

_LAST: Final = "SELECT counterfoil.last_position()"


class _Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How far the live rows of a projection are, and whether they go on."""

    position: int
    schema: int
    paused_at: Instant | None
    paused_by: str | None
    paused_reason: str | None


class LivePositions(TrackingRecorder):
    """How far one read model is, as the library's tracking tells it."""

    def __init__(self, lend: Lend, projection: str) -> None:
        """Take where to borrow a connection for each look, and the projection."""
        self._lend = lend
        self._projection = projection

    @override
    def insert_tracking(self, tracking: Tracking) -> None:
        """Refuse: only who writes the rows moves their checkpoint."""
        msg = f"{self._projection} is moved by whoever projects it"
        raise ProgrammingError(msg)

    @override
    def max_tracking_id(self, application_name: str) -> int | None:
        """Return the live rows' checkpoint; None before the first one.

        Raises:
            UnknownProjectionError: the database does not know the projection.
        """
        return self._standing(application_name).position or None

    @override
    def has_tracking_id(
        self, application_name: str, notification_id: int | None
    ) -> bool:
        """Return whether the live rows are at that position.

        Raises:
            PausedError, OutdatedError: they are not, and do not go on.
            UnknownProjectionError: the database does not know the projection.
        """
        standing = self._standing(application_name)
        if notification_id is None or standing.position >= notification_id:
            return True
        told = (self._projection, notification_id, standing.position)
        if standing.paused_at is not None:
            raise PausedError(
                *told,
                since=standing.paused_at,
                by=standing.paused_by or "",
                reason=standing.paused_reason or "",
            )
        ours = BY_NAME.get(self._projection)
        if ours is not None and standing.schema != ours.schema:
            raise OutdatedError(*told, schema=standing.schema)
        return False

    @override
    def wait(
        self,
        application_name: str,
        notification_id: int | None,
        timeout: float = 1.0,
        interrupt: Event | None = None,
    ) -> None:
        """See the library's; but it looks more often at first.

        Raises:
            TimeoutError, WaitInterruptedError: as the library's.
            PausedError, OutdatedError: see `has_tracking_id`.
        """
        until = time.monotonic() + timeout
        pause = _FIRST_PAUSE_SECONDS
        sleeper = interrupt or Event()
        while not self.has_tracking_id(application_name, notification_id):
            left = until - time.monotonic()
            if left <= 0:
                msg = f"{self._projection} is not at {notification_id} yet"
                raise TimeoutError(msg)
            if sleeper.wait(min(pause, left)):
                raise WaitInterruptedError
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _standing(self, followed: str) -> _Standing:
        asked = {"name": self._projection, "followed": followed}
        with (
            self._lend() as connection,
            connection.cursor(row_factory=class_row(_Standing)) as cursor,
        ):
            found = cursor.execute(_LOOK, asked, prepare=True).fetchone()
        if found is None:
            raise UnknownProjectionError([self._projection])
        return found


def at_least(lend: Lend, position: int, seconds: float = PATIENCE_SECONDS) -> AtLeast:
    """Return what lets one read wait for `position`, for so many seconds in all."""
    until = time.monotonic() + seconds
    return AtLeast(position, partial(_wait, lend, until, seconds))


def _wait(
    lend: Lend, until: float, seconds: float, projection: str, position: int
) -> None:
    """Return when the read model was seen at the position.

    Raises:
        PositionAheadError: there is no such position; nothing is waited for.
        PausedError, OutdatedError: it does not go on.
        NotReachedError: it was not there in time.
    """
    _refuse_ahead(lend, position)
    tracking = LivePositions(lend, projection)
    try:
        tracking.wait(FOLLOWED, position, max(0.0, until - time.monotonic()))
    except TimeoutError as error:
        reached = tracking.max_tracking_id(FOLLOWED) or 0
        why = why_behind(lend, projection, position)
        raise NotReachedError(
            projection, position, reached, seconds=seconds, why=why
        ) from error


def _refuse_ahead(lend: Lend, position: int) -> None:
    with lend() as connection, connection.cursor(row_factory=scalar_row) as cursor:
        last: int = cursor.execute(_LAST).fetchone() or 0
    if position > last:
        raise PositionAheadError(position, last)
