"""A run as JSON and Markdown, written anew after each round: a crash loses only one."""

import subprocess
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.child import ROOT
from bench.figures import Figure
from bench.lines import Round
from bench.peers.field import Failure
from bench.peers.figures import verdict
from bench.peers.lines import Samples
from bench.peers.system import System
from bench.sizes import Sizes

_MANY = 100
_SOME = 10


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of a queue."""

    name: str
    version: str
    """Empty if it is not installed."""
    settings: str
    jobs: int
    """How many it drains."""
    without_transaction: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one run says."""

    at: str
    seconds: float
    families: list[str]
    sizes: Sizes
    machine: dict[str, str]
    load_before: str
    load_after: str
    peers: list[Peer]
    figures: list[Figure]
    failures: list[Failure]
    series: dict[str, dict[str, list[tuple[float, float]]]]
    """What is drawn, by measure and variant."""
    rounds: list[Round]
    samples: dict[str, list[Samples]]
    """Of the quantiles: by measure, for each round."""


def peers(systems: Sequence[System], jobs: int) -> list[Peer]:
    """Return what is told of `systems`, their versions asked for."""
    return [
        Peer(
            name=it.name,
            version=_version(it),
            settings=it.settings,
            jobs=max(int(jobs * it.share), 1),
            without_transaction=it.without_transaction,
        )
        for it in systems
    ]


def _version(system: System) -> str:
    if not system.is_installed:
        return ""
    told = subprocess.run(  # noqa: S603 - the table of systems wrote it
        system.version_told_by, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


def write(report: Report, folder: Path) -> list[Path]:
    """Write `peers-<date>.json` and `.md` into `folder`; return the two files."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "peers-" + report.at.replace(":", "")
    files = [folder / f"{name}.json", folder / f"{name}.md"]
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=1)
    for file, text in zip(files, (encoded.decode(), markdown(report)), strict=True):
        new = file.with_suffix(".new")
        new.write_text(text)
        new.replace(file)
    return files


def show(report: Report, console: Console) -> None:
    """Print the figures, and loudly who failed."""
    table = Table(title=f"bench of {report.at}, {len(report.rounds)} rounds")
    table.add_column("")
    for name in ("median", "least", "most", "unit", "target", ""):
        table.add_column(name, justify="right")
    for group, figures in groupby(report.figures, lambda figure: figure.group):
        table.add_section()
        table.add_row(f"[bold]{escape(group)}[/bold]")
        for it in figures:
            *cells, outcome = _cells(it)
            colour = "red" if "missed" in outcome else "green"
            told = f"[{colour}]{outcome.strip('*')}[/{colour}]"
            table.add_row("  " + escape(it.title), *cells, told)
    console.print(table)
    for line in _troubles(report):
        console.print(f"[bold red]{escape(line)}[/bold red]")


def markdown(report: Report) -> str:
    """Return the run as a page."""
    lines = [
        (
            f"# Bench of {report.at}: {len(report.rounds)} rounds,"
            f" {report.seconds / 60:.0f} minutes"
        ),
        "",
        *(f"* {name}: {value}" for name, value in report.machine.items()),
        f"* load average before {report.load_before}, after {report.load_after}",
        f"* families: {', '.join(report.families)}; sizes: {report.sizes}",
        *(f"* **{line}**" for line in _troubles(report)),
        "",
        "| queue | version | settings | jobs drained |",
        "|---|---|---|--:|",
        *(
            f"| {it.name} | {it.version or 'not installed'} | {it.settings} |"
            f" {it.jobs:,} |"
            for it in report.peers
        ),
        "",
        "| | median | least | most | unit | target | |",
        "|---|--:|--:|--:|---|---|---|",
    ]
    for group, figures in groupby(report.figures, lambda figure: figure.group):
        lines.append(f"| **{group}** | | | | | | |")
        lines += [f"| {it.title} | {' | '.join(_cells(it))} |" for it in figures]
    return "\n".join(lines) + "\n"


def _troubles(report: Report) -> list[str]:
    """Return who is not in the table, or not in all rounds of it, and why."""
    found = [f"{it.name} is NOT INSTALLED: left out" for it in report.peers
             if not it.version]  # fmt: skip
    failures = [it for it in report.failures if not it.reason.startswith("not inst")]
    return (
        found
        + [
            f"{it.system} FAILED in {it.measure}, {_when(it)}:"
            f" {' '.join(it.reason.split())}"
            for it in failures
        ]
        + [
            f"{it.name} is not in the line of a caller's transaction:"
            f" {it.without_transaction}"
            for it in report.peers
            if it.without_transaction
        ]
    )


def _when(failure: Failure) -> str:
    return f"round {failure.turn + 1}" if failure.turn >= 0 else "before the rounds"


def _cells(figure: Figure) -> list[str]:
    numbers = (figure.value, figure.low, figure.high)
    told = [_told(each) for each in numbers]
    return [*told, figure.unit, figure.target, verdict(figure)]


def _told(value: float) -> str:
    if abs(value) >= _MANY:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= _SOME else f"{value:.2f}"


def drawn(
    measures: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]],
) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return what is drawn, as the report holds it."""
    return {
        name: {variant: list(points) for variant, points in series.items()}
        for name, series in measures.items()
        if series
    }
