"""Requests stopped on purpose, so that a test can kill their caller at that moment.

A hold catches the first request it matches, and only that one: "before" the panel
applies it, or "after" it applied and booked it but before it answers. By then the book
has its row. Released, the request goes on whether its client still lives or not, as on
the real panel (remnawave.md 2, "lost answers"); dropped, it ends without an answer.
"""

import threading
from dataclasses import dataclass, field
from typing import Final, Literal

type When = Literal["before", "after"]

DEFAULT_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """The request that a hold caught."""

    seq: int
    """Its number in the book."""
    method: str
    path: str
    request_id: str | None


class Hold:
    """One stop, for one request."""

    def __init__(self, number: int, method: str, path_prefix: str, when: When) -> None:
        self.number: Final = number
        self._method: Final = method.upper()
        self._path_prefix: Final = path_prefix.casefold()
        self._when: Final = when
        self._taken = False
        self._held: HeldRequest | None = None
        self._released = False
        self._dropped = False
        self._changed: Final = threading.Condition()

    def wait_arrived(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> HeldRequest:
        """Return the caught request, once it stands still.

        Raises:
            TimeoutError: none came in time.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._held or self._dropped, timeout_s)
            if self._held is None:
                msg = f"no {self._method} {self._path_prefix} within {timeout_s} s"
                raise TimeoutError(msg)
            return self._held

    def release(self, *, drop: bool = False) -> None:
        """Let the request go on, or with `drop` end it; the first call decides."""
        with self._changed:
            if not self._released:
                self._released, self._dropped = True, drop
            self._changed.notify_all()

    def take(self, method: str, path: str, when: When) -> bool:
        """Return whether this request is the one to stop, and stop no other."""
        with self._changed:
            fits = (
                when == self._when
                and method == self._method
                and path.casefold().startswith(self._path_prefix)
                and not (self._taken or self._released)
            )
            self._taken = self._taken or fits
            return fits

    def stand(self, held: HeldRequest) -> bool:
        """Wait for the release, and return whether the request may go on."""
        with self._changed:
            self._held = held
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._released)
            return not self._dropped


@dataclass(slots=True)
class Holds:
    """All stops that were set, by number."""

    _holds: dict[int, Hold] = field(default_factory=dict[int, Hold])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, method: str, path_prefix: str, when: When) -> Hold:
        """Return a new stop for the next request that fits."""
        with self._lock:
            hold = Hold(len(self._holds) + 1, method, path_prefix, when)
            self._holds[hold.number] = hold
            return hold

    def find(self, number: int) -> Hold | None:
        """Return the stop of that number, if it was ever set."""
        return self._holds.get(number)

    def take(self, method: str, path: str, when: When) -> Hold | None:
        """Return the stop that this request runs into, if any."""
        with self._lock:
            for hold in self._holds.values():
                if hold.take(method, path, when):
                    return hold
        return None

    def drop_all(self) -> None:
        """End every stopped request without an answer."""
        with self._lock:
            for hold in self._holds.values():
                hold.release(drop=True)
