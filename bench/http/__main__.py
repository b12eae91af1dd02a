"""`python -m bench.http`: the API and the bare route in turn; or lists over HTTP."""

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from rich.console import Console
from rich.table import Table

from bench import machine
from bench.asked import asked, scratch
from bench.bulk import bulk
from bench.ground import ground
from bench.http import lists
from bench.http.load import CLIENTS, Measured, ask
from bench.http.sides import (
    api_environ,
    asked_of_the_api,
    asked_of_the_bare_route,
    serving,
)
from bench.lists.measures import ROWS
from infrastructure.errors import InfrastructureError

API: Final = "api"
BARE: Final = "bare"

type Lines = dict[str, list[Measured]]
"""By side and request: what each round measured."""


def measure(folder: Path, rounds: int, seconds: float) -> Lines:
    """Return what each round measured, the sides in turn.

    Raises:
        InfrastructureError: work was not done that was to be measured.
    """
    lines: Lines = defaultdict(list)
    with (
        ground(folder, 0) as place,
        place.database() as conninfo,
        serving("api", API, "--json", environ=api_environ(conninfo)) as api,
        serving("bench.http.bare", environ={}) as bare,
    ):
        sides = (
            (API, api, asked_of_the_api(conninfo)),
            (BARE, bare, asked_of_the_bare_route()),
        )
        for turn in range(rounds + 1):
            for side, address, asked in sides:
                for name, each in asked.items():
                    measured = ask(address, each, seconds)
                    if turn:  # the first one warms up
                        lines[f"{side}: {name}"].append(measured)
    return lines


def told(lines: Lines) -> Mapping[str, Mapping[str, float]]:
    """Return medians over the rounds, and rates as parts of the bare route's."""
    rates = {
        name: statistics.median(each.rate for each in measured)
        for name, measured in lines.items()
    }
    return {
        name: {
            "requests_per_second": rates[name],
            "p50_ms": _quantile(measured, 50),
            "p99_ms": _quantile(measured, 99),
            "of_bare": rates[name] / rates[_bare(name)],
        }
        for name, measured in lines.items()
    }


def _bare(name: str) -> str:
    return f"{BARE}: {'read' if name.endswith('read') else 'write'}"


def _quantile(measured: list[Measured], percent: int) -> float:
    return 1_000 * statistics.median(
        statistics.quantiles(each.taken, n=100)[percent - 1] for each in measured
    )


def show(figures: Mapping[str, Mapping[str, float]], console: Console) -> None:
    """Print the figures."""
    table = Table(title=f"{CLIENTS} clients at once")
    for name in ("", "requests/s", "p50 ms", "p99 ms", "of the bare route"):
        table.add_column(name, justify="right" if name else "left")
    for name, each in figures.items():
        table.add_row(
            name,
            f"{each['requests_per_second']:,.0f}",
            f"{each['p50_ms']:.1f}",
            f"{each['p99_ms']:.1f}",
            f"{each['of_bare']:.2f}",
        )
    console.print(table)


def measure_lists(
    folder: Path, rounds: int, *, quick: bool
) -> Mapping[str, Mapping[str, float]]:
    """Return how long lists took."""
    with ground(folder, 0) as place:
        return lists.measure(place, 2_000 if quick else ROWS, rounds)


def show_lists(figures: Mapping[str, Mapping[str, float]], console: Console) -> None:
    """Print how long lists took."""
    table = Table(title="lists over HTTP, one client, 50 rows a page, ms")
    names = ("questions", "p50_ms", "p95_ms", "p99_ms", "counted_p99_ms")
    for name in ("", *names):
        table.add_column(name.removesuffix("_ms"), justify="right" if name else "left")
    for name, each in figures.items():
        times = (f"{each[it]:.1f}" for it in names[1:])
        table.add_row(name, f"{each[names[0]]:.0f}", *times)
    console.print(table)


def _throughput(folder: Path, console: Console, *, quick: bool) -> object:
    figures = told(measure(folder, *((1, 0.5) if quick else (5, 3.0))))
    show(figures, console)
    return figures


def _lists(folder: Path, console: Console, *, quick: bool) -> object:
    figures = measure_lists(folder, 1 if quick else 5, quick=quick)
    show_lists(figures, console)
    return figures


def _bulk(folder: Path, console: Console, *, quick: bool) -> object:
    jobs = 250 if quick else 10_000
    with ground(folder, 0) as place:
        figures = bulk(place, 1 if quick else 5, jobs)
    for name, rate in figures.items():
        console.print(f"{jobs:,} jobs in one transaction, {name}: {rate:,.0f} jobs/s")
    return figures


class _Kind(Protocol):
    def __call__(self, folder: Path, console: Console, *, quick: bool) -> object: ...


_KINDS: Final[Mapping[str, _Kind]] = {
    "throughput": _throughput,
    "lists": _lists,
    "bulk": _bulk,
}
_ALL: Final = "all"


def main() -> int:
    """Run the bench as the command line says; return the exit code."""
    wanted = asked("python -m bench.http", __doc__, one_of=(*_KINDS, _ALL))
    console, at = wanted.console, machine.utc()
    for what in _KINDS if wanted.what == _ALL else (wanted.what,):
        load = machine.load()
        with scratch() as folder:
            try:
                figures = _KINDS[what](folder, console, quick=wanted.is_quick)
            except InfrastructureError as error:
                console.print(f"[red]{error}[/red]")
                return 1
        report = {
            "at": at,
            "load_before": load,
            "load_after": machine.load(),
            "figures": figures,
        }
        wanted.out.mkdir(parents=True, exist_ok=True)
        file = wanted.out / f"http-{what}-{at.replace(':', '')}.json"
        file.write_text(json.dumps(report, indent=2) + "\n")
        console.print(f"load {load} before, {machine.load()} after; written: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
