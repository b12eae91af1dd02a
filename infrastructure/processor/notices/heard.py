"""What the listener tells the claim loop, however many notices there were."""

import threading
from collections.abc import Callable


class Notices:
    """Between two threads: the listener writes, the claim loop reads."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever there is something new to read."""
        self._wake = wake
        self._came: set[str] = set()
        self._lock = threading.Lock()
        self.are_heard = False
        """Whether a connection listens that has been seen to hear."""

    def set_heard(self, are_heard: bool) -> None:  # noqa: FBT001 - the fact itself
        """Tell whether notices would be heard from now on."""
        self.are_heard = are_heard
        self._wake()

    def tell(self, queue: str) -> None:
        """Tell that a notice came for one of our queues."""
        with self._lock:
            self._came.add(queue)
        self._wake()

    def take(self) -> set[str]:
        """Return the queues for which any came since this was last asked."""
        if not self._came:
            return set()
        with self._lock:
            came, self._came = self._came, set()
        return came
