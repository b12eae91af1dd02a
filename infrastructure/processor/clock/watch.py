"""Tell when this machine's clock and the database's differ.

Leases, backoffs and schedules go by the database's clock alone, so a wrong one here
harms no job.  It dates log lines and new ids wrongly, and what a panel asks to wait
for by a date, if the panel does not tell its own time.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant
from infrastructure.processor.leases import boottime
from infrastructure.telemetry import emit

BOUND_SECONDS: Final = 5.0
"""Clocks that are kept by NTP differ by a thousandth of it."""

LOOK_SECONDS: Final = 60.0
AGAIN_SECONDS: Final = 3600.0
"""How often a difference that lasts is told: each log of a day shows it."""

_NOW: Final = "SELECT counterfoil.now()"


def utc_now() -> datetime:
    """Return this machine's time."""
    return datetime.now(UTC)


class ClockWatch:
    """Compares the two clocks now and then; of one thread."""

    def __init__(
        self,
        wall: Callable[[], datetime] = utc_now,
        elapsed: Callable[[], float] = boottime,
    ) -> None:
        """Compare `wall` with the database's clock; `elapsed` says when it is due."""
        self._wall = wall
        self._elapsed = elapsed
        self._look_at = elapsed()
        self._tell_at: float | None = None
        """When a difference is told again; None: the clocks agreed."""

    def look(self, connection: Connection) -> None:
        """Compare the clocks if it is time, and tell what differs.

        Raises:
            DatabaseUnavailableError: the connection was lost.
        """
        began, here = self._elapsed(), self._wall()
        if began < self._look_at:
            return
        self._look_at = began + LOOK_SECONDS
        ((answer,),) = connection.execute(_NOW).fetchall()
        there, took = instant(answer), self._elapsed() - began
        # The database looked at its clock somewhere between request and answer.
        ahead = (here - there).total_seconds() + took / 2
        if abs(ahead) - took / 2 <= BOUND_SECONDS:
            if self._tell_at is not None:
                emit("clock agrees again", ahead_seconds=round(ahead, 1))
            self._tell_at = None
        elif self._tell_at is None or began >= self._tell_at:
            self._tell_at = began + AGAIN_SECONDS
            emit(
                "clock differs",
                ahead_seconds=round(ahead, 1),
                here=here.isoformat(timespec="seconds"),
                database=there.astimezone(UTC).isoformat(timespec="seconds"),
                bound_seconds=BOUND_SECONDS,
            )
