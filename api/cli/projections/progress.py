"""How far a build is: a line that moves, or a line now and then where none can."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from projections.builds import Progress, Tell

_SAID_EVERY_S: Final = 10.0
_MINUTE: Final = 60

_WORDS: Final = {
    "waiting": "waits whether the process that was at it is still alive",
    "folding": "folding",
    "tidying": "tidying up the new rows",
    "promoting": "promoting",
    "comparing": "comparing",
}


@contextmanager
def progress() -> Generator[Tell]:
    """Give what shows progress on standard error."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        yield _Teller(console, bar, bar.add_task("beginning", total=None))


class _Teller:
    """Shows each step once."""

    def __init__(self, console: Console, bar: Bar, task: TaskID) -> None:
        self._console = console
        self._bar = bar
        self._task = task
        self._said_at = time.monotonic()

    def __call__(self, now: Progress) -> None:
        told = said(now)
        if not self._bar.disable:
            self._bar.update(
                self._task, description=told, total=now.total, completed=now.done
            )
        elif now.phase == "waiting" or time.monotonic() - self._said_at > _SAID_EVERY_S:
            self._said_at = time.monotonic()
            self._console.print(told, markup=False)


def said(now: Progress) -> str:
    """Return where a build is, in one line."""
    words = f"{now.projection}: {_WORDS[now.phase]}"
    if now.phase != "folding":
        return words
    words += f", {now.done:,} of {now.total:,}"
    if now.seconds_left is None:
        return words
    return f"{words}, {now.per_second:,.0f} events/s, {_span(now.seconds_left)} left"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
