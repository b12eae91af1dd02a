"""Pick-up latency: from the answer of COMMIT to the first line of the handler."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from bench.child import BenchError
from bench.figures import quantile
from bench.lines import Line, Series, rotated
from bench.peers.field import Field, Fields
from bench.peers.lines import OURS, Quantile, Samples, at, beside
from bench.peers.processes import WorkerProcess, wait_until_handled
from bench.peers.system import System
from bench.peers.systems import GRAPHILE_WORKER

_STEADY_SECONDS: Final = 0.02
_IDLE_SECONDS: Final = 2.6
"""Between two samples of one worker: each finds it idle for longer than two seconds."""
_APART_SECONDS: Final = 0.3
"""Between the samples of two workers, so that they do not meet."""
_WARM_UP: Final = 20
"""Steady samples before the ones that count; of an idle worker it is one."""
_START_SECONDS: Final = 1.5
_PATIENCE_SECONDS: Final = 20.0


@dataclass(slots=True)
class PickUp:
    """Milliseconds; sender and worker read one clock, the machine's monotonic one."""

    fields: Fields
    times: int
    is_idle: bool
    also: Mapping[str, System] = field(default_factory=dict[str, System])
    """Another way to run a queue, by its name: measured in the same databases."""
    samples: list[Samples] = field(default_factory=list[Samples])

    @property
    def name(self) -> str:
        """Its key in a round."""
        return "idle pick-up" if self.is_idle else "steady pick-up"

    @property
    def lines(self) -> Sequence[Line]:
        """Nothing of a round: quantiles need the samples of all."""
        return ()

    @property
    def quantiles(self) -> Sequence[Quantile]:
        """p50 and p99 of each queue, ours against the targets."""
        every = "2.6 s" if self.is_idle else "20 ms"
        group = f"{self.name}, commit to handler, one job every {every}"
        names = [it.system.name for it in self._ways()]
        wanted = {(OURS, 0.5): "≤ 2", (OURS, 0.99): "≤ 10"} if self.is_idle else {}
        found = [
            Quantile(group, f"{name}, p{100 * share:.0f}", "ms",
                     at(name, share), wanted.get((name, share), ""))
            for share in (0.5, 0.99)
            for name in names
        ]  # fmt: skip
        rival = GRAPHILE_WORKER.name
        if OURS in names and rival in names:
            found.append(
                Quantile(group, f"{OURS} / {rival}, p99", "×",
                         beside(OURS, rival, 0.99), "≤ 1" if self.is_idle else "")
            )  # fmt: skip
        return found

    def _ways(self) -> list[Field]:
        return [
            each
            for it in self.fields.ready
            for each in (
                [it, replace(it, system=self.also[it.system.name])]
                if it.system.name in self.also
                else [it]
            )
        ]

    def round(self, turn: int) -> Mapping[str, float]:
        """Sample every queue; idle ones side by side, busy ones one after the other."""
        fields = rotated(self._ways(), turn)
        found = self._side_by_side(fields, turn) if self.is_idle else {}
        if not self.is_idle:
            for it in fields:
                found |= self._guarded(it, turn, 0.0)
        self.samples.append(found)
        return {f"{name}, p50": median(each) for name, each in found.items()}

    def series(self) -> Series:
        """Return the share of samples (y) that took at most so long (x)."""
        pooled: dict[str, list[float]] = {}
        for each in self.samples:
            for name, samples in each.items():
                pooled.setdefault(name, []).extend(samples)
        steps = [n / 100 for n in range(1, 100)]
        return {
            name: [(quantile(samples, share), share) for share in steps]
            for name, samples in pooled.items()
        }

    def _side_by_side(self, fields: list[Field], turn: int) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        with ThreadPoolExecutor(max(len(fields), 1)) as pool:
            waits = [n * _APART_SECONDS for n in range(len(fields))]
            turns = [turn] * len(fields)
            for each in pool.map(self._guarded, fields, turns, waits):
                found |= each
        return found

    def _guarded(self, it: Field, turn: int, wait: float) -> dict[str, list[float]]:
        try:
            return {it.system.name: self._sampled(it, wait)}
        except BenchError as error:
            self.fields.failed(it.system, self.name, turn, error)
            return {}

    def _sampled(self, it: Field, wait: float) -> list[float]:
        warm_up = 1 if self.is_idle else _WARM_UP
        apart = _IDLE_SECONDS if self.is_idle else _STEADY_SECONDS
        jobs = self.times + warm_up
        with (
            it.empty() as conninfo,
            WorkerProcess(it.system, conninfo, it.place.folder, "pickup") as worker,
        ):
            it.place.checkpoint()
            worker.go()
            time.sleep(_START_SECONDS + wait)
            told = it.call(conninfo, "pickup", str(jobs), str(apart))
            wait_until_handled([worker], jobs, _PATIENCE_SECONDS)
            worker.stop()
        return [
            (worker.began[n] - since) / 1e6
            for n, since in told["committed"]
            if n >= warm_up
        ]
