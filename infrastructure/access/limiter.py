"""Counts requests in this process: several processes allow several times as much."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from domain.access.rates import Allowance, Policy, full, take

MOST_PARTITIONS: Final = 10_000
"""Whoever asked longest ago is forgotten first, as if their buckets were full."""


class LocalLimiter:
    """See `Limiter`; it asks nobody, so it cannot be away."""

    def __init__(
        self,
        policies: Sequence[Policy],
        *,
        most: int = MOST_PARTITIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the policies, which hold for each partition by itself."""
        self._policies = tuple(policies)
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, tuple[float, ...]]] = OrderedDict()

    def take(self, partition: str) -> Allowance:
        """See `Limiter.take`."""
        with self._lock:
            now = self._clock()
            at, levels = self._buckets.pop(partition, (now, full(self._policies)))
            after, allowance = take(self._policies, levels, now - at)
            self._buckets[partition] = (now, after)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
            return allowance
