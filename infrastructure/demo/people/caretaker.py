"""An operator who closes the panel for maintenance in the middle, and opens it again.

The marks are taken when the command that closes has answered, and before the one that
opens is given: between them the gate was closed for certain.
"""

import time
from dataclasses import dataclass
from typing import Final

from infrastructure.demo.diary import Diary, Mark, Window
from infrastructure.demo.figures import Progress
from infrastructure.demo.people.reader import Reader
from infrastructure.demo.processes import Command, DemoProcessError, Processes
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number

NAME: Final = "anna"
WINDOW_AT: Final = 0.3
"""Share of all orders after which the window is opened."""
_MEANWHILE: Final = 0.08
_HELD: Final = 0.04
"""Shares of all orders that are settled, and held, before it is closed."""

_REASON: Final = "the panel moves to another host"
_NOTICE_RU: Final = "Идут технические работы, доступ появится чуть позже."
_NOTICE_EN: Final = "Maintenance is under way, access follows a little later."
_OVER: Final = "the panel answers again"
_PAUSE_S: Final = 0.02

_MARK: Final = "SELECT counterfoil.last_position()"
_COUNT_HELD: Final = "SELECT count(*) FROM counterfoil.jobs WHERE gate IS NOT NULL"


@dataclass(slots=True)
class Caretaker:
    """Opens one window and closes it."""

    connection: Connection
    processes: Processes
    diary: Diary
    reader: Reader
    _closing: Command | None = None
    _at: int = 0
    """Orders that were settled when the window was opened."""

    @property
    def is_in_window(self) -> bool:
        """Whether the gate is closed for certain."""
        window = self.diary.window
        return window is not None and window.last is None

    @property
    def is_done(self) -> bool:
        """Whether the window has been closed."""
        window = self.diary.window
        has_asked = window is not None and window.last is not None
        return has_asked and self._closing is None

    def open(self, now: Progress) -> None:
        """Open the window, and return when its gate is closed.

        Raises:
            DemoProcessError: the command was refused.
        """
        command = self._give(
            "open", "--reason", _REASON,
            "--notice-ru", _NOTICE_RU, "--notice-en", _NOTICE_EN,
        )  # fmt: skip
        while not _has_worked(command):
            time.sleep(_PAUSE_S)
        self._at = now.settled
        self.diary.window = Window(
            operator=NAME,
            reason=_REASON,
            over=_OVER,
            notice_ru=_NOTICE_RU,
            notice_en=_NOTICE_EN,
            first=self._mark(),
        )

    def has_seen_enough(self, now: Progress) -> bool:
        """Return whether enough was settled and held in the window."""
        window = self.diary.window
        if window is None:
            return False
        orders = len(self.diary.sales)
        window.held = self._held()
        window.settled = now.settled - self._at
        # Whatever cannot be held any more has ended.
        is_all = now.settled == orders and now.unfinished == window.held
        return is_all or (
            window.held >= _HELD * orders and window.settled >= _MEANWHILE * orders
        )

    def close(self) -> None:
        """Ask what waits for what, and begin to close the window; see `look`.

        Raises:
            CounterfoilError: the read models did not answer.
        """
        window = self.diary.window
        if window is not None:
            window.waiting = self.reader.waiting(self._mark().position)
            window.last = self._mark()
            self._closing = self._give("close", "--reason", _OVER)

    def look(self) -> None:
        """Note that the window is closed.

        Raises:
            DemoProcessError: the command was refused.
        """
        if self._closing is not None and _has_worked(self._closing):
            self._closing = None

    def _give(self, *arguments: str) -> Command:
        return self.processes.command(NAME, ["maintenance", *arguments, "--json"])

    def _mark(self) -> Mark:
        row = self.connection.execute(_MARK).fetchall()[0]
        return Mark(number(row[0]), time.monotonic_ns())

    def _held(self) -> int:
        return number(self.connection.execute(_COUNT_HELD).fetchall()[0][0])


def _has_worked(command: Command) -> bool:
    ended = command.ended()
    if ended is not None and ended.code != 0:
        msg = f"`counterfoil maintenance` ended with {ended.code}: {ended.err.strip()}"
        raise DemoProcessError(msg)
    return ended is not None
