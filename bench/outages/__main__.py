"""`python -m bench.outages [--quick] [--only NAME]…`: outages alone, as a table."""

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from bench import machine
from bench.outages import settings
from bench.outages.measures import Outage, show
from bench.outages.scenarios import SCENARIOS
from bench.outages.server import serve
from bench.outages.subjects import SUBJECTS

_ENTERED_BY_NAME = 0o711
"""The server's own account gets through to its folder and sees nothing else."""


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.outages", description=__doc__
    )
    parser.add_argument(
        "--quick", action="store_true", help="a short look; its figures say little"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="a system, or several"
    )
    parser.add_argument(
        "--scenario", action="append", choices=SCENARIOS, help="one, or several"
    )
    return parser.parse_args()


def main() -> int:
    """Send systems through outages as the command line says; return the exit code."""
    asked = _asked()
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160)
    os.environ.pop("COUNTERFOIL_DATABASE_URL", None)
    subjects = [
        subject
        for subject in SUBJECTS
        if subject.system.is_installed
        and (not asked.only or subject.title in asked.only)
    ]
    spans = settings.QUICK if asked.quick else settings.FULL
    with TemporaryDirectory(prefix="counterfoil-outages-") as name:
        folder = Path(name)
        folder.chmod(_ENTERED_BY_NAME)
        with serve(folder) as server:
            for scenario in asked.scenario or SCENARIOS:
                before = machine.load()
                outage = Outage(scenario, subjects, server, spans)
                told = outage.round(0)
                show(outage, told, console)
                console.print(f"load average before {before}, after {machine.load()}\n")
    for subject in subjects:
        console.print(f"{subject.title}: {subject.settings}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
