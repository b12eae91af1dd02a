"""One thread reads on in the log, as long as anybody follows, and tells all of them.

 nobody follows ──follow──► reading, each 250 ms ──the last one leaves──► nobody follows

Whoever follows is told everything beyond the position that `follow` has answered, in
order; what lies before that he reads himself.
"""

import threading
from collections.abc import Callable
from typing import Final

import msgspec

from domain.errors import CounterfoilError
from infrastructure.errors import translated, where
from infrastructure.telemetry import emit
from projections.queries.changes import Beyond, Changes

TICK_SECONDS: Final = 0.25
AT_ONCE: Final = 1_000
_PAUSE_SECONDS: Final = 2.0


class FeedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one process tells, and how far back it goes (api 3.9)."""

    followers: int = 200
    positions: int = 10_000
    """That a follower may lag behind; beyond that it loads anew."""
    hours: int = 24


LIMITS: Final = FeedLimits()

type Listener = Callable[[Beyond | None], None]
"""Takes what has happened, None: nothing more will be told.  Never blocks."""


class Feed:
    """Tells what happens."""

    def __init__(self, changes: Changes, limits: FeedLimits = LIMITS) -> None:
        """Take what reads the log, and how much is told."""
        self.limits = limits
        self._changes = changes
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._listeners: list[Listener] = []
        self._position = 0
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def n_followers(self) -> int:
        """How many follow."""
        return len(self._listeners)

    def follow(self, listener: Listener) -> int:
        """Tell `listener` from now on; return the position beyond which it is told.

        Raises:
            CounterfoilError: the database gives no answer.
        """
        # Asked before the lock is taken: whoever leaves is at the event loop.
        end = self._changes.end()
        with self._lock:
            if not self._listeners:
                self._position = end
            self._listeners.append(listener)
            if self._is_closed:
                listener(None)
            elif self._thread is None:
                self._thread = threading.Thread(
                    target=self._read, name="live", daemon=True
                )
                self._thread.start()
            return self._position

    def leave(self, listener: Listener) -> None:
        """Tell `listener` nothing more."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def close(self) -> None:
        """Tell everybody that nothing more will be told."""
        with self._lock:
            self._is_closed = True
            listeners, self._listeners = self._listeners, []
        self._wake.set()
        for listener in listeners:
            listener(None)

    def _read(self) -> None:
        while True:
            with self._lock:
                if not self._listeners:
                    self._thread = None
                    return
            self._wake.wait(self._look())

    def _look(self) -> float:
        """Tell what is new; return how long to rest."""
        try:
            found = self._changes.beyond(self._position, AT_ONCE)
        except Exception as error:  # noqa: BLE001 - the next look may find it back
            known = translated(error)
            said = known.code if isinstance(known, CounterfoilError) else where(error)
            emit("live feed waits", error=said)
            return _PAUSE_SECONDS
        with self._lock:
            self._position = found.position
            listeners = tuple(self._listeners)
        if found.rows:
            for listener in listeners:
                listener(found)
        return 0.0 if len(found.rows) == AT_ONCE else TICK_SECONDS
