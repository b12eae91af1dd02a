"""Where results and errors go, and how each of the two forms looks.

Results go to standard output, for a person or, with --json, as JSON documents of one
line each.  Everything else goes to standard error, errors as one sentence.
"""

import os
import sys
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

_PIPED_COLUMNS: Final = 200
"""A program that reads a table wants whole lines, not those of a small screen."""


def screen() -> Console:
    """Return standard output for a person; ids and tables are never recoloured."""
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=_PIPED_COLUMNS if wide else None)


def say(*lines: str) -> None:
    """Write lines for a person, exactly as they are."""
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def document(value: object) -> None:
    """Write one JSON document as one line."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def aside(text: str, style: str = "") -> None:
    """Write a sentence beside the results, on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(text, style=style))


def complain(text: str) -> None:
    """Write an error as one line on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        Text("error: ", style="bold red").append(text, style="default")
    )
