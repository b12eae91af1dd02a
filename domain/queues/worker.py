"""One worker process, as others see it: alive, draining, or gone.

alive ──Drain──► draining: it claims nothing more, and ends what it runs
draining, nothing left ──► drained: idle until it is stopped
stopped in order, or silent for too long ──► gone: there is nothing to drain
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from domain.errors import IllegalTransitionError
from domain.event import Instant

SILENT_AFTER: Final = timedelta(seconds=60)
"""Four heartbeats that were not heard: nobody counts on it any more."""

ALIVE: Final = "alive"
DRAINING: Final = "draining"
DRAINED: Final = "drained"
STOPPED: Final = "stopped"
SILENT: Final = "silent"
GONE: Final = frozenset({STOPPED, SILENT})


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """One process that claims jobs, by its boot id."""

    boot: UUID
    host: str
    pid: int
    beat_at: Instant
    stopped_at: Instant | None
    draining_since: Instant | None
    running: int
    """How many jobs it holds."""

    def state(self, now: Instant) -> str:
        """Return what it is, in one word."""
        if self.stopped_at is not None:
            return STOPPED
        if now - self.beat_at > SILENT_AFTER:
            return SILENT
        if self.draining_since is None:
            return ALIVE
        return DRAINING if self.running else DRAINED


def drained(worker: Worker, now: Instant) -> Worker:
    """Return the worker, asked to drain; itself when it was asked before.

    Raises:
        IllegalTransitionError: it has stopped, or is not heard of any more.
    """
    state = worker.state(now)
    if state in GONE:
        raise IllegalTransitionError(state, "Drain", stream="worker")
    if worker.draining_since is not None:
        return worker
    return replace(worker, draining_since=now)
