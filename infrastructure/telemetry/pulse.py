"""Whether the loops of this process still come round.

A loop beats each time it comes round.  One that has not for three of its periods is
stuck, unless it waits for the database: of that no loop is guilty, and a new process
would wait as well.  What it waits for is looked up in its stack, and only then; so a
beat costs one look at the clock.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

PERIOD_SECONDS: Final = 5.0
"""A loop comes round at least as often, whether or not there is anything to do."""

MISSED: Final = 3
"""After so many periods without a beat a loop is stuck."""

_OF_THE_DATABASE: Final = ("psycopg", "psycopg_pool", "infrastructure.postgres")


class Pulse:
    """One loop; it is beaten by its own thread, and looked at by others."""

    def __init__(
        self,
        name: str,
        period_seconds: float = PERIOD_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Name the loop; before its first beat it counts as not begun."""
        self.name = name
        self._limit = MISSED * period_seconds
        self._clock = clock
        self._beat_at: float | None = None
        self._thread = 0
        self._has_ended = False

    def beat(self) -> None:
        """Say that the calling thread's loop comes round."""
        self._thread = threading.get_ident()
        self._beat_at = self._clock()

    def end(self) -> None:
        """Say that the loop has ended, or is about to, as it should."""
        self._has_ended = True

    @property
    def is_stuck(self) -> bool:
        """Whether the loop has begun, has not ended, and comes round no more."""
        beat_at = self._beat_at
        if beat_at is None or self._has_ended:
            return False
        if self._clock() - beat_at < self._limit:
            return False
        return not _waits_for_the_database(self._thread)


def _waits_for_the_database(thread: int) -> bool:
    # Not documented as stable, but CPython's own tools live on it; and we need CPython.
    frame = sys._current_frames().get(thread)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return any(_is_of_the_database(name) for name in _modules(frame))


def _modules(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield str(frame.f_globals.get("__name__", ""))
        frame = frame.f_back


def _is_of_the_database(module: str) -> bool:
    return any(
        module == name or module.startswith(f"{name}.") for name in _OF_THE_DATABASE
    )
