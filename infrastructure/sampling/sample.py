"""The last samples, as a scrape reads them: it asks nobody anything.

What is older than a few rounds is not told at all: an old value would be believed.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, override

import msgspec
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from infrastructure.sampling.gauge import Labels, Look, Sampled, within
from infrastructure.sampling.gauges import DECLARED
from infrastructure.telemetry.metrics.families import PREFIX, Families

EVERY_SECONDS: Final = 5.0
OLD_SECONDS: Final = 3 * EVERY_SECONDS
"""What is older is not told any more."""

DATABASE: Final = "database"
_UP: Final = Sampled("dependency_up", "1: it answers.", ("dependency",), most=3)
_READY: Final = Sampled("readiness", "1: this process says that it is ready.")
_POOL: Final = Sampled(
    "db_pool_connections", "Of this process's pool.", ("pool", "state"), most=8
)

type Clock = Callable[[], float]
type Values = Mapping[tuple[Sampled, Labels], float]


class _Sample(msgspec.Struct, frozen=True):
    at: float
    values: Values


class Standing(Collector):
    """What was found last, by look, and since when this process has had no answer."""

    def __init__(
        self,
        families: Families,
        pool: Callable[[], Mapping[Labels, float]],
        clock: Clock = time.monotonic,
    ) -> None:
        """Declare every gauge; `pool` tells connections by name and state."""
        for each in (*DECLARED, _UP, _READY, _POOL):
            families.reserve(each.name, each.most + 1 if each.labels else 1)
        self._pool = pool
        self._clock = clock
        self._lock = threading.Lock()
        self._samples: dict[str, _Sample] = {}
        self._answered_at: float | None = None
        self._ready: tuple[float, bool] | None = None
        families.registry.register(self)

    def now(self) -> float:
        """Return the present by its clock."""
        return self._clock()

    def found(self, look: Look, values: Values, at: float) -> None:
        """Tell from now on what a look has found that began at `at`."""
        with self._lock:
            self._samples[look.name] = _Sample(at, values)
            self._answered_at = at

    def lost(self, look: Look) -> None:
        """Tell nothing of a look: it has failed."""
        with self._lock:
            self._samples.pop(look.name, None)

    def unanswered(self) -> None:
        """Tell that the database does not answer."""
        self._answered_at = float("-inf")

    def readiness(self, *, is_ready: bool) -> None:
        """Tell whether this process says that it is ready."""
        self._ready = (self._clock(), is_ready)

    @override
    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield what is known now; a gauge of which nothing is known is left out."""
        told: dict[Sampled, dict[Labels, float]] = {}
        for (gauge, labels), value in self._values():
            told.setdefault(gauge, {})[labels] = value
        for gauge, values in told.items():
            family = GaugeMetricFamily(
                PREFIX + gauge.name, gauge.told, labels=gauge.labels
            )
            for labels, value in within(gauge, values).items():
                family.add_metric(labels, value)
            yield family

    def _values(self) -> Iterator[tuple[tuple[Sampled, Labels], float]]:
        with self._lock:
            samples = list(self._samples.values())
        for sample in samples:
            if self._is_fresh(sample.at):
                yield from sample.values.items()
        if self._answered_at is not None:
            yield (_UP, (DATABASE,)), self._is_fresh(self._answered_at)
        if self._ready is not None and self._is_fresh(self._ready[0]):
            yield (_READY, ()), self._ready[1]
        for labels, value in self._pool().items():
            yield (_POOL, labels), value

    def _is_fresh(self, at: float) -> bool:
        return self._clock() - at < OLD_SECONDS
