"""Where batches come from: one read for all that are live, and one ahead for a build.

Projections that are live stand at one checkpoint most of the time, so they share what
was read and decoded.  A build reads its next batch while it writes this one.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

from infrastructure.errors import InfrastructureError
from infrastructure.log.follower import Batch, Follower
from infrastructure.projecting.folding import families
from projections.read_models.all import AnyProjection


class _Asked(NamedTuple):
    """What a batch was read for."""

    after: int
    until: int
    most: int


class _Ahead:
    """One batch on its way, in a thread that ends with it."""

    def __init__(self, asked: _Asked, read: Callable[[], Batch]) -> None:
        self.asked = asked
        self._read = read
        self._batch: Batch | None = None
        self._thread = threading.Thread(target=self._run, name="ahead", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._batch = self._read()
        except InfrastructureError:
            return  # whoever needs it reads it by himself, and is told

    def take(self) -> Batch | None:
        """Return the batch once it is there; None: it could not be read."""
        self._thread.join()
        return self._batch


class Batches:
    """Reads batches for the projections of one process."""

    def __init__(self, follower: Follower) -> None:
        """Take the reader of the log."""
        self._follower = follower
        self._shared = Batch(after=0, until=0, events=[])
        self._ahead: dict[str, _Ahead] = {}

    def live(self, after: int, until: int | None, most: int) -> Batch:
        """Return what follows `after`, read once for all that stand there."""
        batch = self._shared
        is_it = batch.after == after < batch.until and len(batch.events) <= most
        if not is_it or (until is not None and batch.until > until):
            batch = self._shared = self._follower.read(after, most, until=until)
        return batch

    def build(
        self, projection: AnyProjection, after: int, until: int | None, most: int
    ) -> Batch:
        """Return what follows `after`, and begin to read what follows that.

        Nothing is read ahead without an `until`: at the end it would be stale.
        """
        ahead = self._ahead.pop(projection.name, None)
        if until is None:
            return self.apart(projection, after, until, most)
        batch = None
        if ahead is not None and ahead.asked == _Asked(after, until, most):
            batch = ahead.take()
        if batch is None or batch.until == after:  # the horizon may have moved since
            batch = self.apart(projection, after, until, most)
        end = batch.until
        if after < end < until:
            self._ahead[projection.name] = _Ahead(
                _Asked(end, until, most),
                lambda: self.apart(projection, end, until, most),
            )
        return batch

    def apart(
        self, projection: AnyProjection, after: int, until: int | None, most: int
    ) -> Batch:
        """Return what follows `after`, of the families that the projection reads."""
        only = families(projection)
        return self._follower.read(after, most, until=until, families=only)
