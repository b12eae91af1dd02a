"""What handlers do, in their own words: a book that nothing of the product writes.

Each line is `what job token instant`, where what is `enters`, `hears` (of a cancel) or
`leaves`.  All processes of a machine share the clock.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


def note(folder: Path, pid: int, what: str, run: str) -> None:
    """Write down that a run of `run` (job and token) does that now; for handlers."""
    with (folder / str(pid)).open("a") as book:
        book.write(f"{what} {run} {time.monotonic_ns()}\n")


@contextmanager
def noted(folder: Path, pid: int, run: str) -> Iterator[None]:
    """Write down when the run begins and ends; for handlers."""
    note(folder, pid, "enters", run)
    try:
        yield
    finally:
        note(folder, pid, "leaves", run)


class Line(NamedTuple):
    """One note."""

    at: int
    what: str
    token: int


class Witnesses:
    """Reads what the handlers of all processes have written down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def of(self, job: object) -> list[Line]:
        """Return the notes about one job, in order."""
        return sorted(self._lines()[str(job)])

    def story(self, job: object) -> list[str]:
        """Return what happened to one job, in order."""
        return [line.what for line in self.of(job)]

    def has_heard(self, job: object) -> bool:
        """Return whether a handler of the job knows that it is not wanted."""
        return "hears" in self.story(job)

    def most_at_once(self, job: object) -> int:
        """Return how many handlers of one job ran at once."""
        most = now = 0
        for line in self.of(job):
            now += {"enters": 1, "leaves": -1}.get(line.what, 0)
            most = max(most, now)
        return most

    def _lines(self) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = defaultdict(list)
        for book in self.folder.iterdir():
            for line in book.read_text().splitlines():
                what, job, token, at = line.split()
                found[job].append(Line(int(at), what, int(token)))
        return found
