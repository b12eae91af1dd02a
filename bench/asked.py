"""What a bench is asked for on the command line, and where it works."""

import argparse
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from rich.console import Console

_ENTERED_BY_NAME: Final = 0o711
"""The server's own account gets through to its folder and sees nothing else."""


class Asked(NamedTuple):
    """How long to measure, and where to tell what was measured."""

    is_quick: bool
    out: Path
    console: Console
    what: str = ""
    """Of several measures, the one that is wanted."""


def asked(
    program: str, description: str | None, one_of: Sequence[str] = ("",)
) -> Asked:
    """Return what the command line says; no setting chooses another database.

    `one_of` are measures, the first one for whoever names none.
    """
    parser = argparse.ArgumentParser(prog=program, description=description)
    if len(one_of) > 1:
        parser.add_argument("what", nargs="?", choices=one_of, default=one_of[0])
    parser.set_defaults(what=one_of[0])
    parser.add_argument(
        "--quick", action="store_true", help="a short look; its figures say little"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("var/bench"), help="folder of the report"
    )
    said = parser.parse_args()
    for name in ("COUNTERFOIL_DATABASE_URL", "COUNTERFOIL_LISTEN_URL"):
        os.environ.pop(name, None)
    width = None if sys.stdout.isatty() else 110
    console = Console(file=sys.stdout, width=width)
    return Asked(said.quick, said.out, console, said.what)


@contextmanager
def scratch() -> Generator[Path]:
    """Give a folder that is gone in the end."""
    with TemporaryDirectory(prefix="counterfoil-bench-") as name:
        folder = Path(name)
        folder.chmod(_ENTERED_BY_NAME)
        yield folder
