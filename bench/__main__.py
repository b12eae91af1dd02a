"""`python -m bench [--quick]`: measure, print, and keep the figures in `var/bench`."""

import argparse
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import Progress

from bench import machine
from bench.bulk import bulk
from bench.drain import drain
from bench.figures import figures
from bench.fulfillment import fulfillment
from bench.ground import Ground, ground
from bench.latency import latency
from bench.lines import Round
from bench.report import Report, show, write
from bench.single import single
from bench.sizes import FULL, QUICK, Sizes
from infrastructure.errors import InfrastructureError

_ENTERED_BY_NAME = 0o711
"""The server's own account gets through to its folder and sees nothing else."""


def measure(folder: Path, sizes: Sizes, console: Console) -> Report:
    """Return the report of one run over a server of its own below `folder`.

    Raises:
        BenchError: work was not done that was to be measured.
    """
    began_at = time.monotonic()
    at, load_before = machine.utc(), machine.load()
    rounds: list[Round] = []
    samples: list[dict[str, list[float]]] = []
    with (
        ground(folder, sizes.drained_jobs) as place,
        Progress(console=console, transient=True) as bar,
    ):
        told = machine.machine(place.uri)
        task = bar.add_task("measuring", total=sizes.rounds)
        for turn in range(sizes.rounds):
            rounds.append(_round(place, sizes, turn))
            samples.append(latency(place, sizes))
            bar.advance(task)
    return Report(
        at=at,
        seconds=time.monotonic() - began_at,
        sizes=sizes,
        machine=told,
        load_before=load_before,
        load_after=machine.load(),
        figures=figures(rounds, samples),
        rounds=rounds,
    )


def _round(place: Ground, sizes: Sizes, turn: int) -> Round:
    return {
        "drain": drain(place, sizes.drained_jobs, turn),
        "single": single(place, sizes.singles),
        "bulk": bulk(place, sizes.bulks, sizes.bulk_jobs),
        "fulfillment": fulfillment(place, sizes.orders),
    }


def main() -> int:
    """Run the bench as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a short look; its figures say little"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("var/bench"), help="folder of the report"
    )
    asked = parser.parse_args()
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 110)
    for name in ("COUNTERFOIL_DATABASE_URL", "COUNTERFOIL_LISTEN_URL"):
        os.environ.pop(name, None)
    with TemporaryDirectory(prefix="counterfoil-bench-") as name:
        folder = Path(name)
        folder.chmod(_ENTERED_BY_NAME)
        try:
            report = measure(folder, QUICK if asked.quick else FULL, console)
        except InfrastructureError as error:
            console.print(f"[red]{error}[/red]")
            return 1
    show(report, console)
    for file in write(report, asked.out):
        console.print(f"written: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
