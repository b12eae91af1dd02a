"""A subscription of the library that polls, and looks at once when it is told to.

The log notifies nobody (`NOTIFY` serialises commits), so polling is the promise and
the hint only saves the wait.  A hint can come early, be lost, or be needless: the
horizon alone decides what is read.
"""

from collections.abc import Sequence
from typing import Final, override

from eventsourcing.persistence import ApplicationRecorder, ListenNotifySubscription

_POLL_SECONDS: Final = 0.05  # what an idle reader may lag; one look costs 0.2 ms


class LogSubscription(ListenNotifySubscription[ApplicationRecorder]):
    """Yields notifications in the order of the log, and waits for more."""

    def __init__(
        self,
        recorder: ApplicationRecorder,
        gt: int | None = None,
        topics: Sequence[str] = (),
    ) -> None:
        """Start to read behind position `gt`."""
        super().__init__(recorder=recorder, gt=gt, topics=topics)

    def hint(self) -> None:
        """Look for new events now."""
        self._has_been_notified.set()

    @override
    def _loop_on_pull(self) -> None:
        # The library's loop, but its wait ends by itself.
        try:
            while not self._has_been_stopped:
                self._pull()
                self._has_been_notified.wait(_POLL_SECONDS)
        except BaseException as error:  # noqa: BLE001 - raised again by __next__
            self._thread_error = error
            self.stop()
