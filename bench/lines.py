"""What a measure is, and how the lines of a report are taken from its rounds.

A ratio is taken within each round, and its median over the rounds, because the two
sides of one round met the same machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

type Round = Mapping[str, Mapping[str, float]]
"""By measure, then by variant; a variant may be missing in a round."""

type Series = Mapping[str, Sequence[tuple[float, float]]]
"""Points (x, y) by variant: of time, or of size."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report; rounds for which `of` raises KeyError are left out."""

    group: str
    title: str
    unit: str
    of: Callable[[Round], float]
    target: str = ""
    """What the design asks for, if it asks: `≥ 1.5`, `≤ 10`."""


class Titled(Protocol):
    """What a figure takes over from the line that it is of."""

    @property
    def group(self) -> str:
        """The heading above it."""
        ...

    @property
    def title(self) -> str:
        """What it is called there."""
        ...

    @property
    def unit(self) -> str:
        """What its number counts."""
        ...

    @property
    def target(self) -> str:
        """What the design asks for; empty if nothing."""
        ...


class Measure(Protocol):
    """One thing that is measured in every round; made before the first one."""

    @property
    def name(self) -> str:
        """Its key in a `Round`."""
        ...

    @property
    def lines(self) -> Sequence[Line]:
        """What the report tells of it."""
        ...

    def round(self, turn: int) -> Mapping[str, float]:
        """Measure once, every variant, interleaved; who begins changes with `turn`.

        Raises:
            BenchError: work was not done that was to be measured.
        """
        ...

    def series(self) -> Series:
        """Return what is drawn rather than tabulated, over all rounds so far."""
        ...


def rotated[T](items: Sequence[T], turn: int) -> list[T]:
    """Return `items` so that another one begins in each turn."""
    begin = turn % len(items) if items else 0
    return [*items[begin:], *items[:begin]]


def value(measure: str, variant: str) -> Callable[[Round], float]:
    """Read one variant of one measure."""
    return lambda it: it[measure][variant]


def ratio(measure: str, above: str, below: str) -> Callable[[Round], float]:
    """Divide one variant by another of the same round."""
    return lambda it: it[measure][above] / it[measure][below]
