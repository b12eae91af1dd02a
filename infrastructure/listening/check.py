"""One check: bounded in time, asked once however many want to know.

A check that does not answer goes on in its own thread until it does; until then nobody
asks it again, and everybody is told `timeout`.
"""

import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from infrastructure.errors import where
from infrastructure.telemetry import emit

BOUND_SECONDS: Final = 3.0
FRESH_SECONDS: Final = 2.0
"""So long an answer is kept (requirements 18)."""


class Flaw(StrEnum):
    """What is wrong, by its class: never by what a server or a driver said."""

    TIMEOUT = "timeout"
    """No answer within the bound."""
    UNAVAILABLE = "unavailable"
    DRAINING = "draining"
    """The process was asked to stop."""
    STUCK = "stuck"
    """A loop has not come round for three of its periods."""
    STARTING = "starting"
    OUTDATED = "outdated"
    """The schema is not this version's."""
    ABSENT = "absent"
    """There is nothing that could be checked: that is never a good sign."""


type Look = Callable[[], Flaw | None]
"""Returns what is wrong, or None; may raise, which is `unavailable`."""


class _Run:
    def __init__(self, at: float) -> None:
        self.at = at
        self.ended = threading.Event()
        self.flaw: Flaw | None = Flaw.UNAVAILABLE


class Check:
    """A look that is bounded, and whose answer is kept for a while."""

    def __init__(
        self,
        name: str,
        look: Look,
        *,
        bound_seconds: float = BOUND_SECONDS,
        fresh_seconds: float = FRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Name the check, and say how it looks."""
        self.name = name
        self._look = look
        self._bound = bound_seconds
        self._fresh = fresh_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._run: _Run | None = None

    def __call__(self) -> Flaw | None:
        """Return what is wrong, as of not longer than a moment ago."""
        run = self._current()
        if run.ended.wait(max(run.at + self._bound - self._clock(), 0.0)):
            return run.flaw
        return Flaw.TIMEOUT

    def _current(self) -> _Run:
        now = self._clock()
        with self._lock:
            run = self._run
            is_over = run is not None and run.ended.is_set()
            if run is None or (is_over and now - run.at >= self._fresh):
                run = self._run = _Run(now)
                threading.Thread(
                    target=self._looked, args=(run,), name=self.name, daemon=True
                ).start()
            return run

    def _looked(self, run: _Run) -> None:
        try:
            run.flaw = self._look()
        except Exception as error:  # noqa: BLE001 - a probe must answer whatever it meets
            emit("check failed", check=self.name, error=where(error))
        finally:
            run.ended.set()
