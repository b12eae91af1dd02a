"""`python -m bench [--quick]`: measure, print, and keep the figures in `var/bench`."""

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from bench import machine
from bench.asked import asked, scratch
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
    wanted = asked("python -m bench", __doc__)
    console = wanted.console
    with scratch() as folder:
        try:
            report = measure(folder, QUICK if wanted.is_quick else FULL, console)
        except InfrastructureError as error:
            console.print(f"[red]{error}[/red]")
            return 1
    show(report, console)
    for file in write(report, wanted.out):
        console.print(f"written: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
