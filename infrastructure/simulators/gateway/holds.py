"""Requests stopped on purpose, so that a test can kill their buyer at that moment.

A hold catches the first request that it matches, and only that one, at its point:

    before_accept  the request is in the ledger, nothing is bought
    after_accept   it is bought and in the ledger, nothing is answered
    before_lookup  somebody asks what became of a purchase, nothing is answered

Released, the request goes on whether its client still lives or not; dropped, it ends
there without an answer.
"""

import threading
from dataclasses import dataclass, field
from typing import Final

POINTS: Final = ("before_accept", "after_accept", "before_lookup")

DEFAULT_TIMEOUT_S: Final = 10.0


class Hold:
    """One stop, for one request."""

    def __init__(self, number: int, point: str, match: str) -> None:
        self.number: Final = number
        self._point: Final = point
        self._match: Final = match
        self._is_taken = False
        self._held: int | None = None
        self._is_released = False
        self._is_dropped = False
        self._changed: Final = threading.Condition()

    def wait_arrived(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> int:
        """Return the caught request's number in the ledger, once it stands still.

        Raises:
            TimeoutError: none came in time.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._held is not None or self._is_dropped, timeout_s
            )
            if self._held is None:
                msg = f"no request at {self._point} within {timeout_s} s"
                raise TimeoutError(msg)
            return self._held

    def release(self, *, drop: bool = False) -> None:
        """Let the request go on, or with `drop` end it; the first call decides."""
        with self._changed:
            if not self._is_released:
                self._is_released, self._is_dropped = True, drop
            self._changed.notify_all()

    def take(self, point: str, names: tuple[str, ...]) -> bool:
        """Return whether this request is the one to stop, and stop no other."""
        with self._changed:
            fits = (
                point == self._point
                and any(self._match in name for name in names)
                and not (self._is_taken or self._is_released)
            )
            self._is_taken = self._is_taken or fits
            return fits

    def stand(self, seq: int) -> bool:
        """Wait for the release, and return whether the request may go on."""
        with self._changed:
            self._held = seq
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_released)
            return not self._is_dropped


@dataclass(slots=True)
class Holds:
    """All stops that were set, by number."""

    _holds: dict[int, Hold] = field(default_factory=dict[int, Hold])
    _waiting: dict[int, Hold] = field(default_factory=dict[int, Hold])
    """Those that have caught nothing yet."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, point: str, match: str = "") -> Hold:
        """Return a new stop for the next request that fits.

        Raises:
            ValueError: there is no such point.
        """
        if point not in POINTS:
            msg = f"point must be one of {', '.join(POINTS)}"
            raise ValueError(msg)
        with self._lock:
            hold = Hold(len(self._holds) + 1, point, match)
            self._holds[hold.number] = self._waiting[hold.number] = hold
            return hold

    def find(self, number: int) -> Hold:
        """Return the stop of that number.

        Raises:
            ValueError: it was never set.
        """
        hold = self._holds.get(number)
        if hold is None:
            msg = f"no hold {number}"
            raise ValueError(msg)
        return hold

    def pass_by(self, point: str, names: tuple[str, ...], seq: int) -> bool:
        """Stand still if a stop is meant for this request; return whether to go on."""
        with self._lock:
            found = (hold for hold in self._waiting.values() if hold.take(point, names))
            hold = next(found, None)
            if hold is not None:
                del self._waiting[hold.number]
        return hold is None or hold.stand(seq)

    def drop_all(self) -> None:
        """End every stopped request without an answer."""
        with self._lock:
            for hold in self._holds.values():
                hold.release(drop=True)
