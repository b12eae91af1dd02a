"""`python -m bench.peers`: every measure beside the other queues, interleaved."""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import StatisticsError
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bench import machine
from bench.child import ROOT
from bench.ground import ground
from bench.lines import Measure, Series
from bench.peers.families import Planned, known, planned
from bench.peers.field import Failure, Fields
from bench.peers.figures import figures
from bench.peers.lines import Sampled
from bench.peers.report import Peer, Report, drawn, peers, show, write
from bench.peers.system import PYTHON, System
from bench.peers.systems import SYSTEMS
from bench.sizes import FULL, QUICK, Sizes
from infrastructure.errors import InfrastructureError

_TERMINATED: Final = 128 + signal.SIGTERM
_ENTERED_BY_NAME: Final = 0o711
"""The server's own account gets through to its folder and sees nothing else."""


@dataclass(slots=True)
class Run:
    """One run, as far as it has come."""

    sizes: Sizes
    families: Sequence[str]
    systems: Sequence[System]
    out: Path
    console: Console
    fields: Fields = field(default_factory=Fields)
    _at: str = field(default_factory=machine.utc)
    _began_at: float = field(default_factory=time.monotonic)
    _load: str = field(default_factory=machine.load)
    _machine: dict[str, str] = field(default_factory=dict[str, str])
    _peers: list[Peer] = field(default_factory=list[Peer])
    _rounds: list[dict[str, dict[str, float]]] = field(
        default_factory=list[dict[str, dict[str, float]]]
    )

    def measure(self, folder: Path) -> Report:
        """Measure over a server of its own below `folder`; write after each round."""
        with ExitStack() as stack:
            place = stack.enter_context(ground(folder, self.sizes.drained_jobs))
            self._machine = machine.machine(place.uri)
            self._peers = peers(self.systems, self.sizes.drained_jobs)
            self.console.print("preparing the databases …")
            plan = stack.enter_context(
                planned(place, self.sizes, self.families, self.systems, self.fields)
            )
            bar = stack.enter_context(_progress(self.console))
            task = bar.add_task("", total=sum(each.rounds for each in plan))
            report = self._report(plan)
            for turn in range(self.sizes.rounds):
                self._rounds.append({})
                for each in plan:
                    if turn < each.rounds:
                        bar.update(task, description=each.measure.name)
                        self._take(each, turn)
                        bar.advance(task)
                report = self._report(plan)
                write(report, self.out)
            return report

    def _take(self, planned_: Planned, turn: int) -> None:
        measure = planned_.measure
        try:
            self._rounds[-1][measure.name] = dict(measure.round(turn))
        except (InfrastructureError, OSError) as error:
            self.fields.failures.append(
                Failure(
                    system=f"family {planned_.family}",
                    measure=measure.name,
                    turn=turn,
                    reason=str(error),
                )
            )

    def _report(self, plan: Sequence[Planned]) -> Report:
        measures = [each.measure for each in plan]
        return Report(
            at=self._at,
            seconds=time.monotonic() - self._began_at,
            families=list(self.families),
            sizes=self.sizes,
            machine=self._machine,
            load_before=self._load,
            load_after=machine.load(),
            peers=self._peers,
            figures=figures(measures, self._rounds),
            failures=self.fields.failures,
            series=drawn({each.name: _series(each) for each in measures}),
            rounds=list(self._rounds),
            samples={
                each.name: list(each.samples)
                for each in measures
                if isinstance(each, Sampled)
            },
        )


def _series(measure: Measure) -> Series:
    try:
        return measure.series()
    except StatisticsError:
        return {}  # none of its rounds has succeeded so far


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        speed_estimate_period=600,
    )


def _draw(json: Path, console: Console) -> None:
    """Draw the picture in the peers' environment: the product draws nothing."""
    if not PYTHON.exists():
        console.print("no picture: .venv-bench is not there; run make bench-peers")
        return
    subprocess.run(  # noqa: S603 - our own program
        [PYTHON, "-m", "bench.peers.draw", json], cwd=ROOT, check=True
    )
    console.print(f"written: {json.with_suffix('.svg')}, -growth.svg and -outages.svg")


def _list_of(what: str, all_of_them: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what reads a list of names off the command line."""

    def read(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := sorted(set(chosen) - set(all_of_them)):
            msg = f"no such {what}: {', '.join(unknown) or 'the empty name'}; "
            raise argparse.ArgumentTypeError(
                msg + f"there are {', '.join(all_of_them)}"
            )
        return chosen

    return read


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a short look; its figures say little"
    )
    queues = [it.name for it in SYSTEMS]
    parser.add_argument(
        "--only",
        metavar="FAMILY,…",
        type=_list_of("family", known()),
        default=known(),
        help=f"families of: {', '.join(known())}",
    )
    parser.add_argument(
        "--systems",
        metavar="NAME,…",
        type=_list_of("queue", queues),
        default=queues,
        help=f"queues of: {', '.join(queues)}",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("var/bench"), help="folder of the report"
    )
    return parser


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _leave(*_: object) -> None:
    sys.exit(_TERMINATED)


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    parser = _parser()
    asked = parser.parse_args()
    try:
        # Now, not after half an hour of measuring.
        with TemporaryFile(dir=_made(asked.out)):
            pass
    except OSError as error:
        parser.error(f"--out {asked.out}: {error.strerror}; name a folder to write in")
    # Whoever ends a run ends its server and its workers with it.
    signal.signal(signal.SIGTERM, _leave)
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120)
    os.environ.pop("COUNTERFOIL_DATABASE_URL", None)
    run = Run(
        sizes=QUICK if asked.quick else FULL,
        families=asked.only,
        systems=[it for it in SYSTEMS if it.name in asked.systems],
        out=asked.out,
        console=console,
    )
    with TemporaryDirectory(prefix="counterfoil-bench-") as name:
        folder = Path(name)
        folder.chmod(_ENTERED_BY_NAME)
        try:
            report = run.measure(folder)
        except InfrastructureError as error:
            console.print(f"[red]{error}[/red]")
            return 1
    show(report, console)
    as_json, as_markdown = write(report, asked.out)
    console.print(f"written: {as_json} and {as_markdown}")
    _draw(as_json, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
