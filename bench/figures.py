"""From the samples of all rounds to figures: medians, extremes and ratios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import msgspec

from bench.lines import Line, Round, Titled, ratio, value


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the report."""

    group: str
    title: str
    unit: str
    value: float
    """The median of the rounds; of latencies the quantile over all samples."""
    low: float
    high: float
    """The least and the greatest round."""
    target: str = ""
    """What the design asks for, if it asks."""


def _of_floor(it: Round) -> float:
    floor = max(it["drain"]["floor_1"], it["drain"]["floor_2"])
    return it["drain"]["worker"] / floor


def _per_second(it: Round) -> float:
    return 1e3 / it["single"]["settle"]


_DRAIN: Final = "drain of no-op jobs, full history and outbox"
_SINGLE: Final = "one transaction of a caller, with a row of his own"
_STEP: Final = "the added step alone"
_BULK: Final = "bulk enqueue"
_ORDERS: Final = "fulfilment through the panel simulator"

_LINES: Final = (
    Line(_DRAIN, "worker, one process", "jobs/s", value("drain", "worker")),
    Line(_DRAIN, "floor, one connection", "jobs/s", value("drain", "floor_1")),
    Line(_DRAIN, "floor, two connections", "jobs/s", value("drain", "floor_2")),
    Line(_DRAIN, "worker / floor, one connection", "×",
          ratio("drain", "worker", "floor_1")),
    Line(_DRAIN, "worker / faster floor", "×", _of_floor, "≥ 0.6"),
    Line(_SINGLE, "own row alone", "ms", value("single", "own")),
    Line(_SINGLE, "+ the job's rows by plain SQL", "ms", value("single", "rows")),
    Line(_SINGLE, "+ counterfoil.enqueue", "ms", value("single", "enqueue")),
    Line(_SINGLE, "+ Client.enqueue (Python)", "ms", value("single", "client")),
    Line(_SINGLE, "+ counterfoil.settle_order", "ms", value("single", "settle")),
    Line(_SINGLE, "+ counterfoil.settle_order", "per second", _per_second),
    Line(_SINGLE, "enqueue / plain SQL rows", "×",
          ratio("single", "enqueue", "rows"), "≤ 1.5"),
    Line(_SINGLE, "enqueue / own row alone", "×",
          ratio("single", "enqueue", "own")),
    Line(_STEP, "the job's rows by plain SQL", "ms", value("single", "rows_step")),
    Line(_STEP, "counterfoil.enqueue", "ms", value("single", "enqueue_step")),
    Line(_STEP, "Client.enqueue (Python)", "ms", value("single", "client_step")),
    Line(_STEP, "counterfoil.settle_order", "ms", value("single", "settle_step")),
    Line(_BULK, "counterfoil.enqueue_many", "jobs/s", value("bulk", "enqueue")),
    Line(_BULK, "Client.enqueue_many (Python)", "jobs/s", value("bulk", "client")),
    Line(_BULK, "floor: INSERT … SELECT", "jobs/s", value("bulk", "rows")),
    Line(_BULK, "enqueue_many / floor", "×",
          ratio("bulk", "enqueue", "rows"), "≥ 0.7"),
    Line(_BULK, "Client.enqueue_many / floor", "×", ratio("bulk", "client", "rows")),
    Line(_ORDERS, "two worker processes", "orders/s",
          value("fulfillment", "orders")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Quantile:
    group: str
    kind: str
    title: str
    share: float
    target: str = ""


_POLLING: Final = "pick-up latency by polling, commit to handler"
_LISTENING: Final = "pick-up latency with notices, commit to handler"
_BUSY: Final = "worked within a second"
_IDLE: Final = "idle for two seconds"
_QUANTILES: Final = (
    _Quantile(_POLLING, "polling_busy", f"polls, {_BUSY}, p50", 0.5),
    _Quantile(_POLLING, "polling_busy", f"polls, {_BUSY}, p99", 0.99),
    _Quantile(_POLLING, "polling_idle", f"polls, {_IDLE}, p50", 0.5),
    _Quantile(_POLLING, "polling_idle", f"polls, {_IDLE}, p99", 0.99),
    _Quantile(_LISTENING, "listening_busy", f"listens, {_BUSY}, p50", 0.5),
    _Quantile(_LISTENING, "listening_busy", f"listens, {_BUSY}, p99", 0.99),
    _Quantile(_LISTENING, "listening_idle", f"listens, {_IDLE}, p50", 0.5, "≤ 2"),
    _Quantile(_LISTENING, "listening_idle", f"listens, {_IDLE}, p99", 0.99, "≤ 10"),
)


def figures(
    rounds: Sequence[Round], samples: Sequence[Mapping[str, Sequence[float]]]
) -> list[Figure]:
    """Return every figure: of the rounds, and of the latencies sampled in them."""
    return [_figure(line, rounds) for line in _LINES] + [
        _latency(samples, line) for line in _QUANTILES
    ]


def _figure(line: Line, rounds: Sequence[Round]) -> Figure:
    values = [line.of(each) for each in rounds]
    return figure(line, median(values), values)


def figure(line: Titled, value: float, rounds: Sequence[float]) -> Figure:
    """Return what a line tells: its value, and the extremes of its `rounds`."""
    return Figure(
        group=line.group,
        title=line.title,
        unit=line.unit,
        value=value,
        low=min(rounds),
        high=max(rounds),
        target=line.target,
    )


def _latency(
    samples: Sequence[Mapping[str, Sequence[float]]], line: _Quantile
) -> Figure:
    rounds = [quantile(each[line.kind], line.share) for each in samples]
    pooled = [sample for each in samples for sample in each[line.kind]]
    return Figure(
        group=line.group,
        title=f"{line.title} of {len(pooled):,}",
        unit="ms",
        value=quantile(pooled, line.share),
        low=min(rounds),
        high=max(rounds),
        target=line.target,
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
