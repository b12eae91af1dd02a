"""Capacity: which claims may be made, and which threads run what is claimed.

Every queue has as many handler threads as it may run jobs at once.  Kinds that ask
a provider are claimed only into slots that are free; other kinds may wait in a
prefetch buffer, behind them (mechanisms 20).
"""

import threading
from collections import deque
from dataclasses import dataclass, field

from infrastructure.processor.leases import Held

PREFETCH = 500
"""Jobs of kinds without a provider that may wait, claimed, for a free thread."""


@dataclass(slots=True)
class _Queue:
    limit: int
    direct: deque[Held] = field(default_factory=deque[Held])
    buffered: deque[Held] = field(default_factory=deque[Held])
    running: int = 0


class Slots:
    """The slots of all queues of one process; safe for its threads."""

    def __init__(self, limits: dict[str, int], most: int | None) -> None:
        """Allow `limits[queue]` jobs at once, and never more than `most` in all."""
        self._queues = {name: _Queue(limit) for name, limit in limits.items()}
        self._most = sum(limits.values()) if most is None else most
        self._changed = threading.Condition()
        self._is_open = True

    @property
    def queues(self) -> list[str]:
        """The names of the queues that this process serves."""
        return list(self._queues)

    def free(self, queue: str) -> int:
        """Return how many jobs that ask a provider may be claimed now."""
        with self._changed:
            mine = self._queues[queue]
            taken = sum(
                each.running + len(each.direct) for each in self._queues.values()
            )
            room = mine.limit - mine.running - len(mine.direct)
            return max(min(room, self._most - taken), 0)

    def room(self, queue: str) -> int:
        """Return how many other jobs may be claimed into the prefetch buffer."""
        with self._changed:
            return max(PREFETCH - len(self._queues[queue].buffered), 0)

    def put(self, held: list[Held]) -> None:
        """Let threads take claimed jobs; those that ask a provider go first."""
        with self._changed:
            for each in held:
                mine = self._queues[each.job.queue]
                (mine.direct if each.kind.asks_provider else mine.buffered).append(each)
            self._changed.notify_all()

    def take(self, queue: str) -> Held | None:
        """Return the next job for a thread of `queue`; None when it shall end."""
        with self._changed:
            mine = self._queues[queue]
            self._changed.wait_for(lambda: not self._is_open or self._may_run(mine))
            if not self._is_open:
                return None
            mine.running += 1
            return mine.direct.popleft() if mine.direct else mine.buffered.popleft()

    def _may_run(self, mine: _Queue) -> bool:
        running = sum(each.running for each in self._queues.values())
        return bool(mine.direct or mine.buffered) and running < self._most

    def give_back(self, queue: str) -> None:
        """Free the slot of a thread whose handler has returned."""
        with self._changed:
            self._queues[queue].running -= 1
            self._changed.notify_all()

    def wait_free(self, timeout: float) -> None:
        """Return when a slot was freed, at the latest after `timeout` seconds."""
        with self._changed:
            self._changed.wait(timeout)

    def close(self) -> list[Held]:
        """Return what no thread has taken; threads end when they next ask."""
        with self._changed:
            self._is_open = False
            left: list[Held] = []
            for each in self._queues.values():
                left += [*each.direct, *each.buffered]
                each.direct.clear()
                each.buffered.clear()
            self._changed.notify_all()
            return left
