"""A run as a table on the screen, as JSON and as Markdown."""

from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

from bench.figures import Figure
from bench.lines import Round
from bench.sizes import Sizes

_MANY: Final = 100


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one run says."""

    at: str
    seconds: float
    sizes: Sizes
    machine: dict[str, str]
    load_before: str
    load_after: str
    figures: list[Figure]
    rounds: list[Round]
    """What each round measured, for whoever doubts a median."""


def show(report: Report, console: Console) -> None:
    """Print the figures."""
    table = Table(title=f"bench of {report.at}, {report.sizes.rounds} rounds")
    table.add_column("")
    for name in ("median", "least", "most", "unit", "target"):
        table.add_column(name, justify="right")
    for group, lines in groupby(report.figures, lambda figure: figure.group):
        table.add_section()
        table.add_row(f"[bold]{group}[/bold]")
        for line in lines:
            table.add_row("  " + line.title, *_cells(line))
    console.print(table)
    console.print(
        f"load average before {report.load_before}, after {report.load_after}"
    )


def write(report: Report, folder: Path) -> list[Path]:
    """Write `<date>.json` and `<date>.md` into `folder`; return the two files."""
    folder.mkdir(parents=True, exist_ok=True)
    name = report.at.replace(":", "")
    as_json = folder / f"{name}.json"
    as_json.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    as_markdown = folder / f"{name}.md"
    as_markdown.write_text(_markdown(report))
    return [as_json, as_markdown]


def _markdown(report: Report) -> str:
    lines = [
        f"# Bench of {report.at}",
        "",
        *(f"* {name}: {value}" for name, value in report.machine.items()),
        f"* load average before {report.load_before}, after {report.load_after}",
        f"* sizes: {report.sizes}",
        "",
        "| | median | least | most | unit | target |",
        "|---|--:|--:|--:|---|---|",
    ]
    for group, figures in groupby(report.figures, lambda figure: figure.group):
        lines.append(f"| **{group}** | | | | | |")
        lines += [f"| {it.title} | {' | '.join(_cells(it))} |" for it in figures]
    return "\n".join(lines) + "\n"


def _cells(figure: Figure) -> list[str]:
    numbers = (figure.value, figure.low, figure.high)
    return [*(_told(each) for each in numbers), figure.unit, figure.target]


def _told(value: float) -> str:
    return f"{value:,.0f}" if value >= _MANY else f"{value:.2f}"
