"""Families with a bound on their series, and histograms that take many at once.

Every family says how many sets of labels it may have; what comes beyond is counted
under `other`, so that no mistake of a label fills a server's memory.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, override

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
)
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

PREFIX: Final = "counterfoil_"
MOST_SERIES: Final = 10_000
"""Of one process (observability 5.1); a test adds up what all families may have."""

OTHER: Final = "other"
FEW: Final = 20
SOME: Final = 60

# When a counter was made is told by its first value, and doubles its series.
disable_created_metrics()  # type: ignore[no-untyped-call]

type Buckets = tuple[float, ...]

QUICK: Final[Buckets] = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
RUNS: Final[Buckets] = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
WAITS: Final[Buckets] = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900, 3600),
)
MARGINS: Final[Buckets] = (
    *(0, 1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 300, 900, 3600),
)
ENDS: Final[Buckets] = (
    *(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400),
)
SIZES: Final[Buckets] = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)


class _Sets:
    """The sets of labels that a family has, and the one for all others."""

    def __init__(self, n_labels: int, most: int) -> None:
        self._most = most
        self._others = (OTHER,) * n_labels
        self._known: set[tuple[str, ...]] = set()

    def admitted(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        if labels in self._known:
            return labels
        if len(self._known) >= self._most:
            return self._others
        self._known.add(labels)
        return labels


class Counted:
    """A counter by labels."""

    def __init__(self, family: Counter, sets: _Sets) -> None:
        """Wrap prometheus-client's."""
        self._family = family
        self._sets = sets

    def add(self, *labels: str, n: float = 1) -> None:
        """Count `n` more."""
        if labels:
            self._family.labels(*self._sets.admitted(labels)).inc(n)
        else:
            self._family.inc(n)


class Level:
    """A gauge by labels."""

    def __init__(self, family: Gauge, sets: _Sets) -> None:
        """Wrap prometheus-client's."""
        self._family = family
        self._sets = sets

    def set(self, value: float, *labels: str) -> None:
        """Say how it is now."""
        self._of(labels).set(value)

    def add(self, n: float, *labels: str) -> None:
        """Say by how much it has changed."""
        self._of(labels).inc(n)

    def _of(self, labels: tuple[str, ...]) -> Gauge:
        if not labels:
            return self._family
        return self._family.labels(*self._sets.admitted(labels))


class Spread(Collector):
    """A histogram by labels, which takes a whole batch under one lock."""

    def __init__(
        self, name: str, told: str, labels: Sequence[str], bounds: Buckets, sets: _Sets
    ) -> None:
        """Begin empty."""
        self._name, self._told, self._labels = name, told, labels
        self._bounds = bounds
        self._sets = sets
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, values: Iterable[float], *labels: str) -> None:
        """Count each of `values`.

        A batch is sorted and cut at the bounds: so it costs little for each.
        """
        ordered = sorted(values)
        places = [bisect_right(ordered, bound) for bound in self._bounds]
        with self._lock:
            labels = self._sets.admitted(labels)
            counts = self._counts.get(labels)
            if counts is None:
                counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
                self._sums[labels] = 0.0
            before = 0
            for n, place in enumerate((*places, len(ordered))):
                counts[n] += place - before
                before = place
            self._sums[labels] += sum(ordered)

    @override
    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Yield the family as it is now."""
        family = HistogramMetricFamily(self._name, self._told, labels=self._labels)
        with self._lock:
            found = [(it, list(n), self._sums[it]) for it, n in self._counts.items()]
        for labels, counts, total in found:
            so_far = 0
            buckets: list[tuple[str, float]] = []
            for bound, n in zip((*self._bounds, float("inf")), counts, strict=True):
                so_far += n
                buckets.append((_told(bound), float(so_far)))
            family.add_metric(labels, buckets, total)
        yield family


def _told(bound: float) -> str:
    return "+Inf" if bound == float("inf") else str(float(bound))


class Families:
    """Declares families in one registry, and knows what they may come to."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Declare into `registry`."""
        self.registry = registry
        self.declared: dict[str, int] = {}
        """Of each family, the series that it may have at most."""

    def counter(self, name: str, told: str, *labels: str, most: int = SOME) -> Counted:
        """Return a new counter; its name ends in `_total`."""
        sets = self._declare(name, labels, most, 1)
        family = Counter(PREFIX + name, told, labels, registry=self.registry)
        return Counted(family, sets)

    def gauge(self, name: str, told: str, *labels: str, most: int = SOME) -> Level:
        """Return a new gauge."""
        sets = self._declare(name, labels, most, 1)
        return Level(Gauge(PREFIX + name, told, labels, registry=self.registry), sets)

    def histogram(
        self, name: str, told: str, *labels: str, bounds: Buckets, most: int = FEW
    ) -> Spread:
        """Return a new histogram."""
        sets = self._declare(name, labels, most, len(bounds) + 3)
        spread = Spread(PREFIX + name, told, labels, bounds, sets)
        self.registry.register(spread)
        return spread

    def reserve(self, name: str, series: int) -> None:
        """Declare a family that is collected elsewhere."""
        self.declared[PREFIX + name] = series

    def _declare(
        self, name: str, labels: Sequence[str], most: int, series: int
    ) -> _Sets:
        sets = most + 1 if labels else 1
        self.declared[PREFIX + name] = sets * series
        return _Sets(len(labels), most)
