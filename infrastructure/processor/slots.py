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
    reserved: int = 0
    """Slots kept for the jobs of a claim that is being made."""
    wanted: bool = False
    """Buffered jobs held every slot when one was to be reserved: the next is kept."""

    @property
    def taken(self) -> int:
        """Slots that run a job, or are spoken for."""
        return self.running + self.reserved + len(self.direct)


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

    def reserve(self, queue: str) -> int:
        """Return how many jobs that ask a provider may be claimed, and keep the slots.

        With none free, the next slot that a buffered job leaves is kept for them, so
        that a full buffer cannot starve them.
        """
        with self._changed:
            mine = self._queues[queue]
            room = min(mine.limit - mine.taken, self._most - self._taken())
            mine.reserved = max(room, 0)
            mine.wanted = room <= 0
            return mine.reserved

    def unreserve(self, queue: str) -> None:
        """Let go of the slots that the claim did not fill, or that nobody wants."""
        with self._changed:
            mine = self._queues[queue]
            if mine.reserved or mine.wanted:
                mine.reserved, mine.wanted = 0, False
                self._changed.notify_all()

    def _taken(self) -> int:
        return sum(each.taken for each in self._queues.values())

    def room(self, queue: str) -> int:
        """Return how many other jobs may be claimed into the prefetch buffer."""
        with self._changed:
            return max(PREFETCH - len(self._queues[queue].buffered), 0)

    def put(self, held: list[Held]) -> None:
        """Let threads take claimed jobs; those that ask a provider go first."""
        with self._changed:
            for each in held:
                mine = self._queues[each.job.queue]
                if each.kind.asks_provider:
                    mine.reserved = max(mine.reserved - 1, 0)
                    mine.direct.append(each)
                else:
                    mine.buffered.append(each)
            self._changed.notify_all()

    def take(self, queue: str) -> Held | None:
        """Return the next job for a thread of `queue`; None when it shall end."""
        with self._changed:
            mine = self._queues[queue]
            self._changed.wait_for(lambda: not self._is_open or self._may_run(mine))
            if not self._is_open:
                return None
            held = mine.direct.popleft() if mine.direct else mine.buffered.popleft()
            mine.running += 1
            return held

    def _may_run(self, mine: _Queue) -> bool:
        if mine.direct:
            return sum(each.running for each in self._queues.values()) < self._most
        # One slot is left for each queue that has asked for one in vain, in the
        # process as a whole and in the queue itself.
        waiting = sum(
            each.wanted for each in self._queues.values() if each.taken < each.limit
        )
        fits = self._taken() + waiting < self._most
        return bool(mine.buffered) and fits and mine.taken + mine.wanted < mine.limit

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
