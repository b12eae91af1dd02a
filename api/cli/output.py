"""Where results and errors go, and how each of the two forms looks.

Results go to standard output, for a person or, with --json, as JSON documents of one
line each.  Everything else goes to standard error, errors as one sentence.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from projections.reading import AsOf

_PIPED_COLUMNS: Final = 200
"""A program that reads a table wants whole lines, not those of a small screen."""

_NARROW: Final = 120
"""On a screen of fewer columns a row of a table takes two lines."""


def screen() -> Console:
    """Return standard output for a person; ids and tables are never recoloured."""
    width = None if sys.stdout.isatty() else _PIPED_COLUMNS
    return Console(highlight=False, width=width)


def show_rows(names: Sequence[str], rows: Iterable[Sequence[Text]]) -> None:
    """Write rows below their names; on a narrow screen each one in two lines.

    The first half of a row is what tells it apart, so none of it is ever broken.
    """
    console = screen()
    head = (len(names) + 1) // 2
    rows = [
        [Text(_on_one_line(each.plain), each.style) for each in row] for row in rows
    ]
    if console.width < _NARROW:
        for row in rows:
            console.print(Text("  ").join(row[:head]), soft_wrap=True)
            rest = Text(", ").join(each for each in row[head:] if each.plain)
            console.print(Padding(rest, (0, 0, 0, 4)))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(names):
        table.add_column(name, no_wrap=number < head, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


# Controls but for the end of a line, and what turns the order of letters around.
_DRIVING: Final = (
    *range(10),
    *range(11, 32),
    *range(127, 160),
    0x2028,
    0x2029,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
_INVISIBLE: Final = dict.fromkeys(_DRIVING, "\ufffd")
# In JSON they stand in texts alone, where every one has an escaped form.
_ESCAPED: Final = {code: f"\\u{code:04x}" for code in _DRIVING}

_LONGEST_LINE: Final = 2_000
"""Of an error, which quotes what was given: that may be a megabyte."""


def visible(text: str) -> str:
    """Return text whose control characters cannot drive the terminal.

    What shops, panels and operators wrote is shown; it must not move the cursor,
    rename the window, hide a line or show itself backwards.
    """
    return text.translate(_INVISIBLE)


def _on_one_line(text: str) -> str:
    """Return the text of one cell, which begins no line that looks like another row."""
    return visible(" ".join(text.split("\n")))


def _shortened(line: str) -> str:
    """Return a line of an error: beginning and end name the fault and the remedy."""
    if len(line) <= _LONGEST_LINE:
        return line
    half = _LONGEST_LINE // 2
    return f"{line[:half]} … {line[-half:]}"


def say(*lines: str) -> None:
    """Write lines for a person, as they are but for control characters."""
    for line in lines:
        sys.stdout.write(visible(line) + "\n")
    sys.stdout.flush()


def document(value: object) -> None:
    """Write one JSON document as one line."""
    sys.stdout.write(msgspec.json.encode(value).decode().translate(_ESCAPED) + "\n")
    sys.stdout.flush()


def aside(text: str, style: str = "") -> None:
    """Write a sentence beside the results, on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        Text(visible(text), style=style)
    )


def tell_as_of(as_of: AsOf) -> None:
    """Say beside the results what moment they are of, and what they lack."""
    told, style = f"as of position {as_of.position}", ""
    if as_of.position < as_of.log_end:
        told += f"; the log goes on to {as_of.log_end}"
    if as_of.is_paused:
        told += "; paused: `counterfoil projections list` says by whom"
        style = "yellow"
    aside(told, style)


def complain(text: str) -> None:
    """Write an error as one line on standard error."""
    told = "\n".join(_shortened(line) for line in text.split("\n"))
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        Text("error: ", style="bold red").append(visible(told), style="default")
    )
