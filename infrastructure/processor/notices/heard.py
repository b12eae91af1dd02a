"""What the listener tells the claim loop, however many notices there were."""

import threading
from collections.abc import Callable


class Notices:
    """Between two threads: the listener writes, the claim loop reads."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever there is something new to read."""
        self._wake = wake
        self._came = threading.Event()
        self.are_heard = False
        """Whether a connection listens that has been seen to hear."""

    def set_heard(self, are_heard: bool) -> None:  # noqa: FBT001 - the fact itself
        """Tell whether notices would be heard from now on."""
        self.are_heard = are_heard
        self._wake()

    def tell(self) -> None:
        """Tell that a notice came for one of our queues."""
        self._came.set()
        self._wake()

    def take(self) -> bool:
        """Whether any came since this was last asked."""
        came = self._came.is_set()
        if came:
            self._came.clear()
        return came
