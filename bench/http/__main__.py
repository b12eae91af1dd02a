"""`python -m bench.http`: the API and the bare route in turn, medians and ratios."""

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench import machine
from bench.asked import asked, scratch
from bench.ground import ground
from bench.http.load import CLIENTS, Measured, ask
from bench.http.sides import (
    api_environ,
    asked_of_the_api,
    asked_of_the_bare_route,
    serving,
)
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


def told(lines: Lines) -> dict[str, dict[str, float]]:
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


def show(figures: dict[str, dict[str, float]], console: Console) -> None:
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


def main() -> int:
    """Run the bench as the command line says; return the exit code."""
    wanted = asked("python -m bench.http", __doc__)
    console = wanted.console
    at, load = machine.utc(), machine.load()
    rounds, seconds = (1, 0.5) if wanted.is_quick else (5, 3.0)
    with scratch() as folder:
        try:
            figures = told(measure(folder, rounds, seconds))
        except InfrastructureError as error:
            console.print(f"[red]{error}[/red]")
            return 1
    show(figures, console)
    wanted.out.mkdir(parents=True, exist_ok=True)
    file = wanted.out / f"http-{at.replace(':', '')}.json"
    report = {"at": at, "load_before": load, "rounds": rounds, "figures": figures}
    file.write_text(json.dumps(report, indent=2) + "\n")
    console.print(f"written: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
