"""Capacity: which claims may be made, and which threads run what is claimed.

Every queue has as many handler threads as it may run jobs at once.  Kinds that ask
a provider are claimed only into slots that are free; other kinds may wait in a
prefetch buffer, behind them (mechanisms 20).

The buffer is as large as its queue is fast: it doubles when half of it was run within
a moment.  While jobs wait in it for a second it halves, and gives back those beyond,
because another process may have a thread for them.  What it had learnt is forgotten
when the queue is not full for a second.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from infrastructure.processor.leases import Held

PREFETCH: Final = 1_500
"""Jobs of kinds without a provider that may wait, claimed, for a free thread, where
they are run fast.  Claims of 500 drained a tenth less (docs/profiles.md)."""

LEAST_PREFETCH: Final = 16
_BRISK_SECONDS: Final = 0.25
_SLOW_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Queue:
    limit: int
    least: int
    prefetch: int
    """Jobs that may wait in `buffered`; it is filled up once half of them are gone."""
    ready: threading.Condition
    """Its handler threads wait here, and are woken one for each job."""
    direct: deque[Held] = field(default_factory=deque[Held])
    buffered: deque[Held] = field(default_factory=deque[Held])
    filled_at: float = 0.0
    """When `buffered` was last full; monotonic seconds."""
    was_filled: bool = False
    running: int = 0
    reserved: int = 0
    """Slots kept for the jobs of a claim that is being made."""
    wanted: bool = False
    """Buffered jobs held every slot when one was to be reserved: the next is kept."""
    is_hungry: bool = False
    """More jobs that ask a provider were due than slots were free."""

    @property
    def taken(self) -> int:
        """Slots that run a job, or are spoken for."""
        return self.running + self.reserved + len(self.direct)


class Slots:
    """The slots of all queues of one process; safe for its threads."""

    def __init__(
        self,
        limits: dict[str, int],
        most: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Allow `limits[queue]` jobs at once, and never more than `most` in all."""
        self._clock = clock
        self._lock = threading.Lock()
        self._queues = {
            name: _Queue(limit, least, least, threading.Condition(self._lock))
            for name, limit in limits.items()
            for least in (max(LEAST_PREFETCH, limit),)
        }
        sum_of_limits = sum(limits.values())
        self._most = sum_of_limits if most is None else most
        self._is_capped = self._most < sum_of_limits
        """Whether one queue's job may keep another queue's from a slot."""
        self._running = 0
        self._spoken_for = 0
        """Reserved slots and those of jobs in `direct`, of all queues."""
        self._wanted = 0
        """Queues that wait for a slot to be kept."""
        self._claimer = threading.Condition(self._lock)
        self._is_poked = False
        """Whether the claimer was poked since it last waited."""
        self._at_work: dict[int, Held] = {}
        """Runs whose handler has not returned, whatever was settled meanwhile."""
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
        with self._lock:
            mine = self._queues[queue]
            free = self._most - self._running - self._spoken_for
            room = max(min(mine.limit - mine.taken, free), 0)
            self._spoken_for += room
            mine.reserved += room
            self._want(mine, wanted=room == 0)
            mine.is_hungry = True
            return room

    def unreserve(self, queue: str, *, is_hungry: bool = False) -> None:
        """Let go of the slots that the claim did not fill, or that nobody wants.

        `is_hungry` says that more may be due: the claimer is told of the next slot.
        """
        with self._lock:
            mine = self._queues[queue]
            mine.is_hungry = is_hungry
            if mine.reserved or mine.wanted:
                self._spoken_for -= mine.reserved
                mine.reserved = 0
                self._want(mine, wanted=False)
                self._wake_all()

    def _want(self, mine: _Queue, *, wanted: bool) -> None:
        self._wanted += wanted - mine.wanted
        mine.wanted = wanted

    def room(self, queue: str) -> int:
        """Return how many other jobs may be claimed into the prefetch buffer."""
        now = self._clock()
        with self._lock:
            mine = self._queues[queue]
            waiting, age = len(mine.buffered), now - mine.filled_at
            if waiting > mine.prefetch // 2:
                if age > _SLOW_SECONDS:
                    mine.prefetch = max(mine.prefetch // 2, mine.least)
                    mine.filled_at, mine.was_filled = now, False
                return 0
            if mine.was_filled and age < _BRISK_SECONDS:
                mine.prefetch = min(mine.prefetch * 2, PREFETCH)
            elif age > _SLOW_SECONDS:
                mine.prefetch = mine.least
            mine.was_filled = False
            return max(mine.prefetch - waiting, 0)

    def surplus(self, stopped: Collection[str] = ()) -> list[Held]:
        """Return what waits beyond the size of its buffer, no longer in it.

        Of the queues that are `stopped` that is all that waits.
        """
        with self._lock:
            left: list[Held] = []
            for name, mine in self._queues.items():
                size = 0 if name in stopped else mine.prefetch
                while len(mine.buffered) > size:
                    left.append(mine.buffered.pop())
            return left

    def put(self, held: list[Held]) -> None:
        """Let threads take claimed jobs; those that ask a provider go first."""
        with self._lock:
            for each in held:
                mine = self._queues[each.job.queue]
                if each.kind.asks_provider or each.is_alone:
                    self._spoken_for += 0 if mine.reserved else 1
                    mine.reserved = max(mine.reserved - 1, 0)
                    mine.direct.append(each)
                else:
                    mine.buffered.append(each)
            now = self._clock()
            for mine in self._queues.values():
                if len(mine.buffered) >= mine.prefetch:
                    mine.filled_at, mine.was_filled = now, True
                mine.ready.notify(len(mine.direct) + len(mine.buffered))

    def take(self, queue: str) -> Held | None:
        """Return the next job for a thread of `queue`; None when it shall end."""
        with self._lock:
            mine = self._queues[queue]
            while not self._may_run(mine):
                if not self._is_open:
                    return None
                mine.ready.wait()
            if mine.direct:
                held = mine.direct.popleft()
                self._spoken_for -= 1
            else:
                held = mine.buffered.popleft()
                if len(mine.buffered) == mine.prefetch // 2:
                    self._claimer.notify()
            mine.running += 1
            self._running += 1
            self._at_work[id(held)] = held
            return held

    def _may_run(self, mine: _Queue) -> bool:
        if mine.direct:
            return self._running < self._most
        if not mine.buffered:
            return False
        # One slot is left for each queue that has asked for one in vain, in the
        # process as a whole and in the queue itself.
        waiting = self._wanted and sum(
            each.wanted for each in self._queues.values() if each.taken < each.limit
        )
        fits = self._running + self._spoken_for + waiting < self._most
        return fits and mine.taken + mine.wanted < mine.limit

    def at_work(self) -> list[Held]:
        """Return the runs whose handlers have not returned."""
        with self._lock:
            return [it for it in self._at_work.values() if not it.has_returned]

    def lingering(self) -> list[UUID]:
        """Return jobs whose handler still runs although its run is over for us.

        They keep their slots; and never do two handlers of one job run here.
        """
        return [it.job.id for it in self.at_work() if it.is_ended or it.is_lost]

    def give_back(self, queue: str, held: Held) -> None:
        """Free the slot of a thread whose handler has returned."""
        with self._lock:
            mine = self._queues[queue]
            self._at_work.pop(id(held), None)
            mine.running -= 1
            self._running -= 1
            # Adopted claims come without a reservation: one queue may have taken
            # another one's slots.
            is_full = self._running + self._spoken_for + 1 >= self._most
            if self._is_capped or is_full:
                self._wake_all()
            elif mine.direct or mine.buffered:
                # The thread itself comes back for one; another may have waited for
                # the slot that is free now.
                mine.ready.notify()
            if mine.is_hungry or self._is_capped:
                self._claimer.notify()

    def _wake_all(self) -> None:
        for each in self._queues.values():
            if each.direct or each.buffered:
                each.ready.notify_all()

    def poke(self) -> None:
        """Let the claimer look again: there may be room, or something new is due."""
        with self._lock:
            self._is_poked = True
            self._claimer.notify()

    def free(self) -> list[str]:
        """Return the queues of which a job that came now would be run at once."""
        with self._lock:
            if self._running + self._spoken_for >= self._most:
                return []
            return [
                name
                for name, mine in self._queues.items()
                if mine.taken < mine.limit and not mine.buffered
            ]

    def wait_free(self, timeout: float) -> None:
        """Return when a claim may do more than the last, or after `timeout` seconds.

        At once if the claimer was poked while he looked: what is due now may have
        been born behind him.
        """
        with self._lock:
            if not self._is_poked:
                self._claimer.wait(timeout)
            self._is_poked = False

    def close(self) -> list[Held]:
        """Return what no thread has taken; threads end when they next ask."""
        with self._lock:
            self._is_open = False
            left: list[Held] = []
            for each in self._queues.values():
                left += [*each.direct, *each.buffered]
                each.direct.clear()
                each.buffered.clear()
                each.ready.notify_all()
            return left
