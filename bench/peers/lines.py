"""Lines that every comparison has: each queue's value, and ours against it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Protocol, runtime_checkable

from bench.figures import quantile
from bench.lines import Line, ratio, value
from bench.peers.systems import COUNTERFOIL

OURS: Final = COUNTERFOIL.name

type Samples = Mapping[str, Sequence[float]]
"""By variant."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A line that is taken from the samples of all rounds together."""

    group: str
    title: str
    unit: str
    of: Callable[[Samples], float]
    target: str = ""


@runtime_checkable
class Sampled(Protocol):
    """A measure that keeps samples beside what a round tells."""

    @property
    def quantiles(self) -> Sequence[Quantile]:
        """What the report tells of the samples."""
        ...

    @property
    def samples(self) -> Sequence[Samples]:
        """The samples of each round so far."""
        ...


def variants(measure: str, group: str, unit: str, names: Sequence[str]) -> list[Line]:
    """Return one line for each of `names`."""
    return [Line(group, name, unit, value(measure, name)) for name in names]


def ratios(
    measure: str, group: str, names: Sequence[str], targets: Mapping[str, str]
) -> list[Line]:
    """Return ours divided by each of the others, within a round."""
    return [
        Line(group, f"{OURS} / {name}", "×",
             ratio(measure, OURS, name), targets.get(name, ""))
        for name in names
        if name != OURS and OURS in names
    ]  # fmt: skip


def per_system(measure: str, names: Sequence[str], of: Mapping[str, str]) -> list[Line]:
    """Return each queue's value of each kind in `of`, which tells the units."""
    return [
        Line(f"{kind} per job, one process" if unit != "MB" else f"{kind}, one process",
             name, unit, value(measure, f"{name}: {kind}"))
        for kind, unit in of.items()
        for name in names
    ]  # fmt: skip


def at(name: str, share: float) -> Callable[[Samples], float]:
    """Read a quantile of one variant's samples."""
    return lambda it: quantile(it[name], share)


def beside(above: str, below: str, share: float) -> Callable[[Samples], float]:
    """Divide a quantile of one variant by the same of another."""
    return lambda it: quantile(it[above], share) / quantile(it[below], share)


def middle(seconds: Sequence[float]) -> float:
    """Return the median in milliseconds: a mean would tell of other people's disks."""
    return median(seconds) * 1e3
