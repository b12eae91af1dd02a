"""From rounds and samples to the figures of the report, and whether targets are met."""

import re
from collections.abc import Sequence
from contextlib import suppress
from operator import ge, le
from statistics import median
from typing import Final

from bench.figures import Figure, figure
from bench.lines import Line, Measure, Round
from bench.peers.lines import Quantile, Sampled, Samples

_TARGET: Final = re.compile(r"([≥≤])\s*([\d.,]+)")


def figures(measures: Sequence[Measure], rounds: Sequence[Round]) -> list[Figure]:
    """Return every figure of which at least one round is known."""
    found: list[Figure | None] = []
    for measure in measures:
        found += [_of_rounds(line, rounds) for line in measure.lines]
        if isinstance(measure, Sampled):
            found += [_of_samples(it, measure.samples) for it in measure.quantiles]
    return [each for each in found if each is not None]


def _of_rounds(line: Line, rounds: Sequence[Round]) -> Figure | None:
    values: list[float] = []
    for each in rounds:
        with suppress(KeyError, ZeroDivisionError):
            values.append(line.of(each))
    return figure(line, median(values), values) if values else None


def _of_samples(line: Quantile, samples: Sequence[Samples]) -> Figure | None:
    pooled: dict[str, list[float]] = {}
    for each in samples:
        for name, some in each.items():
            pooled.setdefault(name, []).extend(some)
    values: list[float] = []
    for each in samples:
        with suppress(KeyError, ZeroDivisionError):
            values.append(line.of(each))
    return figure(line, line.of(pooled), values) if values else None


def verdict(figure: Figure) -> str:
    """Return whether its median reaches its target; empty without one."""
    if (asked := _TARGET.match(figure.target)) is None:
        return ""
    reaches = ge if asked[1] == "≥" else le
    bound = float(asked[2].replace(",", ""))
    return "reached" if reaches(figure.value, bound) else "**missed**"
