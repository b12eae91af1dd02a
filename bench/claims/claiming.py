"""Claims by turns beside every table: jobs taken, and looks that find nothing.

look    one look of an idle poller over the queue in which nothing is due
full    a claim of 100 that scans everything due, as the first one of each second
n100    a claim of 100 within the bounds of the one before it
n500    the same, of 500

What a claim took is removed afterwards, by the statement of no measured connection,
and in every table alike.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from bench.child import BenchError
from bench.claims.backend import Backend
from bench.claims.tables import BUSY, IDLE, KIND, Table, lay_due
from bench.lines import Line, Round, Series, ratio, rotated, value
from infrastructure.postgres.database import Connection, connect
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.identity import this_process

_REMOVE: Final = "DELETE FROM counterfoil.jobs WHERE state = 'running'"

_BUSY: Final = Lane(BUSY, (KIND,))
_IDLE: Final = Lane(IDLE, (KIND,))
_LOOKS: Final = 20
"""Per table and round, as an idle poller makes them: on the real clock."""
_HUNDREDS: Final = 6
_FIVE_HUNDREDS: Final = 3
_WARM_UP: Final = 7
"""From the sixth execution on, a prepared statement may keep its plan."""

WAYS: Final = {
    "look": "a look that finds nothing",
    "full": "a claim of 100, everything due scanned",
    "n100": "a claim of 100, within its bounds",
    "n500": "a claim of 500, within its bounds",
}


@dataclass(slots=True)
class Seat:
    """One claimer at one table; its clock moves as it is told."""

    table: Table
    claims: Connection
    feeds: Connection
    claimer: Claimer = field(
        default_factory=lambda: Claimer(this_process(), {KIND: 60})
    )
    at: float = 0.0

    @property
    def backend(self) -> Backend:
        """What is measured."""
        return Backend(self.claims, self.feeds)

    def prepare(self, jobs: int) -> None:
        """Have so many due, remove what was taken, and let a full scan be due."""
        self.feeds.execute(_REMOVE)
        if self.table.is_fed:
            lay_due(self.feeds, jobs)
        self.at += 10

    def look(self) -> None:
        """Look for what is not there."""
        if self.claimer.look(self.claims, [_IDLE], time.monotonic()):
            msg = f"something is due beside {self.table.title}"
            raise BenchError(msg)

    def take(self, jobs: int) -> None:
        """Claim what is there."""
        self.require(self.claimer.scan(self.claims, _BUSY, jobs, self.at).jobs, jobs)

    def require(self, found: Sequence[object], jobs: int) -> None:
        """Refuse the figure of a claim that took something else."""
        if len(found) != jobs:
            msg = f"{len(found)} jobs, not {jobs}, claimed beside {self.table.title}"
            raise BenchError(msg)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one claim cost."""

    ms: float
    processor_ms: float
    pages: int


class Claiming:
    """The measure; its seats stay taken from round to round."""

    name = "claims"

    def __init__(self, tables: Sequence[Table], stack: ExitStack) -> None:
        """Take a seat at every table, for as long as `stack` stays open."""

        def opened(table: Table) -> Connection:
            return stack.enter_context(closing(connect(table.conninfo)))

        self._seats = [Seat(table, opened(table), opened(table)) for table in tables]
        self._rounds: list[Mapping[str, float]] = []
        for seat in self._seats:
            for _ in range(_WARM_UP):
                seat.look()
                _hundreds(seat)

    @property
    def lines(self) -> Sequence[Line]:
        """Each way on the empty table, and what it takes beside the others."""
        return [line for way in WAYS for line in self._lines(way)]

    def _lines(self, way: str) -> Sequence[Line]:
        group, target = WAYS[way], "≤ 1.2"
        tables = [seat.table for seat in self._seats]
        base, *others = (it for it in tables if it.name not in self._drawn_only)

        def against(table: Table, part: str) -> Callable[[Round], float]:
            above, below = (f"{way}/{it.name}{part}" for it in (table, base))
            return ratio(self.name, above, below)

        alone = value(self.name, f"{way}/{base.name}")
        found = [Line(group, base.title, "ms", alone)]
        for table in others:
            title = f"beside {table.title}"
            found += [
                Line(group, title, "×", against(table, ""), target),
                Line(
                    group, f"{title}, server's processor", "×", against(table, "/cpu")
                ),
            ]
        return found

    @property
    def _drawn_only(self) -> set[str]:
        """The smaller tables of the far future: points of a curve, not lines."""
        return {it.name for it in sorted(self._far, key=lambda it: it.far)[:-1]}

    @property
    def _far(self) -> list[Table]:
        return [seat.table for seat in self._seats if seat.table.far]

    def round(self, turn: int) -> Mapping[str, float]:
        """Measure every way at every table, table by table within each sample.

        Raises:
            BenchError: a claim found other jobs than were there for it.
        """
        seats = rotated(self._seats, turn)
        found: dict[str, float] = {}
        for ways, step, times in _STEPS:
            found |= _measured(seats, ways, step, times)
        self._rounds.append(found)
        return found

    def series(self) -> Series:
        """Return milliseconds and pages over the number of far-future jobs."""
        sizes = {seat.table.name: seat.table.far for seat in self._seats}
        drawn = [name for name, far in sizes.items() if far or name == "empty"]
        return {
            f"{WAYS[way]}{what}": [
                (sizes[name], median(it[f"{way}/{name}{part}"] for it in self._rounds))
                for name in drawn
            ]
            for way in WAYS
            for part, what in (("", ", ms"), ("/pages", ", pages"))
        }


type _Step = Callable[[Seat], Sequence[Spent]]


def _measured(
    seats: Sequence[Seat], ways: Sequence[str], step: _Step, times: int
) -> dict[str, float]:
    """Return the medians of each of `ways`, which one `step` measures together."""
    spent: dict[str, list[Spent]] = {
        f"{way}/{seat.table.name}": [] for seat in seats for way in ways
    }
    for _ in range(times):
        for seat in seats:
            for way, each in zip(ways, step(seat), strict=True):
                spent[f"{way}/{seat.table.name}"].append(each)
    found: dict[str, float] = {}
    for key, samples in spent.items():
        found[key] = median(each.ms for each in samples)
        found[f"{key}/cpu"] = median(each.processor_ms for each in samples)
        found[f"{key}/pages"] = median(each.pages for each in samples)
    return found


def _spent(seat: Seat, way: Callable[[], None]) -> Spent:
    backend = seat.backend
    pages = backend.pages()
    processor_ms = backend.processor_ms()
    began_at = time.perf_counter()
    way()
    ms = (time.perf_counter() - began_at) * 1e3
    processor_ms = backend.processor_ms() - processor_ms
    return Spent(ms, processor_ms, backend.pages() - pages)


def _look(seat: Seat) -> Sequence[Spent]:
    return [_spent(seat, seat.look)]


def _hundreds(seat: Seat) -> Sequence[Spent]:
    seat.prepare(200)
    return [_spent(seat, lambda: seat.take(100)) for _ in range(2)]


def _five_hundred(seat: Seat) -> Sequence[Spent]:
    seat.prepare(600)
    seat.take(100)
    return [_spent(seat, lambda: seat.take(500))]


_STEPS: Final[Sequence[tuple[Sequence[str], _Step, int]]] = (
    (("look",), _look, _LOOKS),
    (("full", "n100"), _hundreds, _HUNDREDS),
    (("n500",), _five_hundred, _FIVE_HUNDREDS),
)
