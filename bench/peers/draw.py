"""Draw a run: `.venv-bench/bin/python -m bench.peers.draw FILE.json`."""

import json
import sys
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

_COLUMNS: Final = 3
_OURS: Final = "counterfoil"
_COLOURS: Final = ("#0b6e4f", "#8d99ae", "#c9a227")
"""Ours, others, floors and targets."""
_TITLE: Final = 44
"""Characters in a line of a title."""
_WIDE: Final = 100.0
"""Ends of an axis further apart than this: a log scale."""


def main(file: Path) -> None:
    """Write the picture beside `file`, as SVG and as PNG."""
    report = json.loads(file.read_text())
    groups = [
        (title, bars)
        for title, figures in groupby(report["figures"], lambda it: it["group"])
        if (bars := [it for it in figures if it["unit"] != "×"])
    ]
    ratios = [it for it in report["figures"] if it["target"] and it["unit"] == "×"]
    series = list(report["series"].items())
    panels = len(groups) + bool(ratios) + len(series)
    rows = -(-panels // _COLUMNS)
    figure, axes = plt.subplots(rows, _COLUMNS, figsize=(18, 4.2 * rows), squeeze=False)
    free = iter(axes.flat)
    if ratios:
        _targets(next(free), ratios)
    for title, bars in groups:
        _bars(next(free), title, bars)
    for title, variants in series:
        _curves(next(free), title, variants)
    for left in free:
        left.set_visible(False)
    figure.suptitle(
        f"{report['at']}, {len(report['rounds'])} rounds on"
        f" {report['machine'].get('processor', '')}: medians, least and most"
    )
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    for kind in (".svg", ".png"):
        figure.savefig(file.with_suffix(kind), dpi=110)


def _bars(axes: Axes, title: str, bars: list[dict[str, Any]]) -> None:
    names = [it["title"] for it in bars]
    values = [it["value"] for it in bars]
    spread = [
        [max(it["value"] - it["low"], 0) for it in bars],
        [max(it["high"] - it["value"], 0) for it in bars],
    ]
    colours = [_COLOURS[0 if _OURS in n else 2 if "floor" in n else 1] for n in names]
    axes.barh(names, values, xerr=spread, color=colours, ecolor="#333333", capsize=2)
    axes.invert_yaxis()
    axes.set_title(fill(title, _TITLE), fontsize=10)
    axes.set_xlabel(bars[0]["unit"])
    axes.tick_params(labelsize=8)
    positive = [value for value in values if value > 0]
    if positive and max(positive) / min(positive) > _WIDE:
        axes.set_xscale("log")


def _targets(axes: Axes, ratios: list[dict[str, Any]]) -> None:
    _bars(axes, "ratios with a target (the mark is the target)", ratios)
    for place, it in enumerate(ratios):
        bound = float(it["target"].split()[1])
        axes.plot([bound, bound], [place - 0.4, place + 0.4], color="#b00020", lw=2)


def _curves(axes: Axes, title: str, variants: dict[str, list[list[float]]]) -> None:
    for name, points in variants.items():
        across, up = zip(*points, strict=True) if points else ((), ())
        look = {"color": _COLOURS[0], "lw": 2.2} if name == _OURS else {"lw": 1.1}
        axes.plot(across, up, label=name, **look)
    every = [point[0] for points in variants.values() for point in points]
    positive = [each for each in every if each > 0]
    if positive and max(positive) / min(positive) > _WIDE:
        axes.set_xscale("symlog" if min(every) <= 0 else "log")
    axes.set_title(fill(title, _TITLE), fontsize=10)
    axes.legend(fontsize=7)
    axes.tick_params(labelsize=8)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
