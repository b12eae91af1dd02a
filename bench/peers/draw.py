"""Draw a run: `.venv-bench/bin/python -m bench.peers.draw FILE.json`.

FILE.svg           side by side: throughput, cost per job, pick-up
FILE-growth.svg    each measure against its size, on a log scale
FILE-outages.svg   jobs per second through each event
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

_COLUMNS: Final = 3
_OURS: Final = "counterfoil"
_COLOURS: Final = ("#0b6e4f", "#8d99ae", "#c9a227")
"""Ours, others, floors."""
_TITLE: Final = 44
"""Characters in a line of a title."""
_WIDE: Final = 100.0
"""Ends of an axis further apart than this: a log scale."""
_BARS: Final = (
    "drain of", "worker CPU", "server CPU", "WAL", "bulk", "single",
)  # fmt: skip
"""How the groups begin that are drawn as bars."""
_OUTAGE: Final = "outage: "
_PICK_UP: Final = "pick-up"

type Panel = Callable[[Axes], None]


def main(file: Path) -> None:
    """Write the pictures beside `file`."""
    plt.switch_backend("Agg")
    plt.rcParams["svg.fonttype"] = "none"  # letters stay letters: a tenth of the size
    report = json.loads(file.read_text())
    series: dict[str, dict[str, list[list[float]]]] = report["series"]
    bars = [
        _bars(title, [it for it in report["figures"] if it["group"] == title])
        for title in dict.fromkeys(it["group"] for it in report["figures"])
        if title.startswith(_BARS)
    ]
    pick_ups = [_shares(t, it) for t, it in series.items() if t.endswith(_PICK_UP)]
    outages = [_curves(t, it) for t, it in series.items() if t.startswith(_OUTAGE)]
    growth = [
        _growth(f"{title}: {name}", points)
        for title, variants in series.items()
        if not title.endswith(_PICK_UP) and not title.startswith(_OUTAGE)
        for name, points in variants.items()
    ]
    told = f"{report['at']}, {len(report['rounds'])} rounds on {report['machine'].get('processor', '')}"  # noqa: E501 - one sentence
    _picture(file.with_suffix(".svg"), told, bars + pick_ups)
    _picture(file.with_name(f"{file.stem}-growth.svg"), told, growth)
    _picture(file.with_name(f"{file.stem}-outages.svg"), told, outages)


def _picture(file: Path, told: str, panels: Sequence[Panel]) -> None:
    if not panels:
        return
    rows = -(-len(panels) // _COLUMNS)
    figure, axes = plt.subplots(rows, _COLUMNS, figsize=(17, 3.6 * rows), squeeze=False)
    free = iter(axes.flat)
    for panel in panels:
        panel(next(free))
    for left in free:
        left.set_visible(False)
    figure.suptitle(told)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(file)
    plt.close(figure)


def _bars(title: str, figures: list[dict[str, Any]]) -> Panel:
    bars = [it for it in figures if it["unit"] != "×"]

    def draw(axes: Axes) -> None:
        names = [it["title"] for it in bars]
        values = [it["value"] for it in bars]
        spread = [
            [max(it["value"] - it["low"], 0) for it in bars],
            [max(it["high"] - it["value"], 0) for it in bars],
        ]
        colours = [
            _COLOURS[0 if _OURS in n else 2 if "floor" in n else 1] for n in names
        ]
        axes.barh(names, values, xerr=spread, color=colours, ecolor="#333", capsize=2)
        axes.invert_yaxis()
        axes.set_xlabel(bars[0]["unit"])
        positive = [value for value in values if value > 0]
        if positive and max(positive) / min(positive) > _WIDE:
            axes.set_xscale("log")
        _finish(axes, f"{title}: median, least, most")

    return draw


def _shares(title: str, variants: dict[str, list[list[float]]]) -> Panel:
    def draw(axes: Axes) -> None:
        _lines(axes, variants)
        axes.set_xscale("log")
        axes.set_xlabel("ms, commit to handler")
        axes.set_ylabel("share of jobs")
        _finish(axes, title)

    return draw


def _growth(title: str, points: list[list[float]]) -> Panel:
    def draw(axes: Axes) -> None:
        across, up = zip(*points, strict=True) if points else ((), ())
        axes.plot(across, up, color=_COLOURS[0], marker="o")
        least = min((each for each in across if each > 0), default=1)
        axes.set_xscale("symlog", linthresh=least)
        axes.set_ylim(0, 1.15 * max(up, default=1))
        axes.set_xlabel("size")
        _finish(axes, title)

    return draw


def _curves(title: str, variants: dict[str, list[list[float]]]) -> Panel:
    def draw(axes: Axes) -> None:
        _lines(axes, variants)
        axes.set_xlabel("seconds from the event")
        axes.set_ylabel("jobs/s")
        axes.set_ylim(bottom=0)
        _finish(axes, title)

    return draw


def _lines(axes: Axes, variants: dict[str, list[list[float]]]) -> None:
    for name, points in variants.items():
        across, up = zip(*points, strict=True) if points else ((), ())
        ours = name.lower().startswith(_OURS)
        look = {"color": _COLOURS[0], "lw": 2.2} if ours else {"lw": 1.1}
        style = "--" if "without" in name else "-"
        axes.plot(across, up, label=name, linestyle=style, **look)
    axes.legend(fontsize=7)


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(fill(title, _TITLE), fontsize=10)
    axes.tick_params(labelsize=8)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
