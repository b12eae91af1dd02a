"""Requests stopped on purpose, so that a test can kill their caller at that moment.

A hold catches the first request that fits, and only that one.  Released, the request
goes on whether its client still lives or not; dropped, it ends without an answer.
"""

import threading
from collections.abc import Callable
from typing import Final

DEFAULT_TIMEOUT_S: Final = 10.0


class Hold[Passing, Held]:
    """One stop, for one request: which is known as `Held` once it stands still."""

    def __init__(self, number: int, fits: Callable[[Passing], bool], what: str) -> None:
        self.number: Final = number
        self._fits: Final = fits
        self._what: Final = what
        self._is_taken = False
        self._held: Held | None = None
        self._is_released = False
        self._is_dropped = False
        self._changed: Final = threading.Condition()

    def wait_arrived(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> Held:
        """Return the caught request, once it stands still.

        Raises:
            TimeoutError: none came in time.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._held is not None or self._is_dropped, timeout_s
            )
            if self._held is None:
                msg = f"no {self._what} within {timeout_s} s"
                raise TimeoutError(msg)
            return self._held

    def release(self, *, drop: bool = False) -> None:
        """Let the request go on, or with `drop` end it; the first call decides."""
        with self._changed:
            if not self._is_released:
                self._is_released, self._is_dropped = True, drop
            self._changed.notify_all()

    def take(self, passing: Passing) -> bool:
        """Return whether this request is the one to stop, and stop no other."""
        with self._changed:
            is_free = not (self._is_taken or self._is_released)
            fits = is_free and self._fits(passing)
            self._is_taken = self._is_taken or fits
            return fits

    def stand(self, held: Held) -> bool:
        """Wait for the release, and return whether the request may go on."""
        with self._changed:
            self._held = held
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_released)
            return not self._is_dropped


class Holds[Passing, Held]:
    """All stops that were set, by number."""

    def __init__(self) -> None:
        self._holds: Final = dict[int, Hold[Passing, Held]]()
        self._waiting: Final = dict[int, Hold[Passing, Held]]()
        """Those that have caught nothing yet."""
        self._lock: Final = threading.Lock()

    def set(self, fits: Callable[[Passing], bool], what: str) -> Hold[Passing, Held]:
        """Return a new stop for the next request that fits: the next `what`."""
        with self._lock:
            hold = Hold[Passing, Held](len(self._holds) + 1, fits, what)
            self._holds[hold.number] = self._waiting[hold.number] = hold
            return hold

    def find(self, number: int) -> Hold[Passing, Held]:
        """Return the stop of that number.

        Raises:
            ValueError: it was never set.
        """
        hold = self._holds.get(number)
        if hold is None:
            msg = f"no hold {number}"
            raise ValueError(msg)
        return hold

    def take(self, passing: Passing) -> Hold[Passing, Held] | None:
        """Return the stop that this request runs into, if any."""
        with self._lock:
            found = (it for it in self._waiting.values() if it.take(passing))
            hold = next(found, None)
            if hold is not None:
                del self._waiting[hold.number]
            return hold

    def drop_all(self) -> None:
        """End every stopped request without an answer."""
        with self._lock:
            for hold in self._holds.values():
                hold.release(drop=True)
