"""Events per second, by batch size, on one and on four writing processes.

Processes, not threads: a writer spends half of its time in Python, and four threads
under one interpreter lock would measure that lock.  Every variant has a database of
its own, which grows through the rounds alike; its rows are counted after every turn.
"""

import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import IO, Final, Self

from bench.child import ROOT, BenchError
from bench.ground import Ground
from bench.lines import Line, Series, ratio, rotated, value
from bench.log.stock import recorder
from bench.log.ways import WAYS
from infrastructure.postgres.database import connect
from infrastructure.postgres.heads.table import number

BATCHES: Final = {1: 1.0, 10: 0.4, 100: 0.15}
"""How many batches of a size, for each transaction that the run's size asks for."""
WRITERS: Final = (1, 4)

_EVENTS: Final = "SELECT count(*) FROM counterfoil.events"
_STOCK_EVENTS: Final = "SELECT count(*) FROM stored_events"

_TOLD: Final = {
    "stock": "stock recorder",
    "store": "batch store, events alone",
    "heads": "batch store, events and heads of jobs",
    "door": "the library's door",
    "floor": "floor: one INSERT of the events",
}
_RATIOS: Final = (
    ("batch store / stock", "store", "stock", "≥ 3"),
    ("batch store with heads / stock", "heads", "stock", ""),
    ("the library's door / stock", "door", "stock", ""),
    ("batch store / floor", "store", "floor", ""),
    ("floor / stock", "floor", "stock", ""),
)


class WriterProcess:
    """One `bench.log.writer`."""

    def __init__(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.log.writer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let it end; it holds nothing that would be missed."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def tell(self, line: str) -> None:
        """Say one line."""
        stdin: IO[str] | None = self._process.stdin
        if stdin is not None:
            stdin.write(line + "\n")
            stdin.flush()

    def hear(self) -> list[int]:
        """Return the numbers of its next answer; none if it is ready.

        Raises:
            BenchError: it ended instead.
        """
        stdout: IO[str] | None = self._process.stdout
        answer = "" if stdout is None else stdout.readline()
        if not answer:
            msg = "a writer ended before its work was done"
            raise BenchError(msg)
        return [int(each) for each in answer.split() if each != "ready"]


@dataclass(slots=True)
class Appends:
    """The measure: variants by turns, for each batch size and number of writers."""

    place: Ground
    databases: Mapping[str, str]
    writers: Sequence[WriterProcess]
    singles: int
    name: str = "appends"
    _expected: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def lines(self) -> Sequence[Line]:
        """Rates, and ratios within each round."""
        return [
            line
            for batch, writers in product(BATCHES, WRITERS)
            for line in _lines(batch, writers)
        ]

    def round(self, turn: int) -> Mapping[str, float]:
        """Measure every variant for every size."""
        return {
            _key(variant, batch, writers): self._rate(variant, batch, writers)
            for batch, writers in product(BATCHES, WRITERS)
            for variant in rotated(list(WAYS), turn)
        }

    def series(self) -> Series:
        """Nothing is drawn."""
        return {}

    def _rate(self, variant: str, batch: int, writers: int) -> float:
        batches = max(1, round(self.singles * BATCHES[batch]))
        if writers > 1:
            batches = max(1, batches // 2)
        asked = self.writers[:writers]
        for each in asked:
            each.tell(f"write {variant} {batch} {batches}")
        for each in asked:
            each.hear()
        self.place.checkpoint()
        for each in asked:
            each.tell("go")
        told = [each.hear() for each in asked]
        self._require(variant, sum(written for _, _, written in told))
        began, ended = min(it[0] for it in told), max(it[1] for it in told)
        return writers * batches * batch / ((ended - began) / 1e9)

    def _require(self, variant: str, written: int) -> None:
        expected = self._expected.get(variant, 0) + written
        self._expected[variant] = expected
        with closing(connect(self.databases[variant])) as connection:
            count = _STOCK_EVENTS if variant == "stock" else _EVENTS
            found = number(connection.execute(count).fetchall()[0][0])
        if found != expected:
            msg = f"{variant} wrote {found} events, not {expected}"
            raise BenchError(msg)


@contextmanager
def appends(place: Ground, singles: int) -> Generator[Appends]:
    """Give the measure, with a database for each variant and four processes."""
    with ExitStack() as stack:
        databases = {name: stack.enter_context(place.database()) for name in WAYS}
        with closing(recorder(databases["stock"]).datastore):
            pass  # its table is there before four writers make it at once
        writers = [stack.enter_context(WriterProcess()) for _ in range(max(WRITERS))]
        for (name, conninfo), writer in product(databases.items(), writers):
            writer.tell(f"open {name} {conninfo}")
            writer.hear()
        yield Appends(place, databases, writers, singles)


def _key(variant: str, batch: int, writers: int) -> str:
    return f"{variant} {batch} {writers}"


def _lines(batch: int, writers: int) -> list[Line]:
    many = "one writer" if writers == 1 else f"{writers} writers"
    group = f"appends, batches of {batch}, {many}"
    keys = {variant: _key(variant, batch, writers) for variant in WAYS}
    return [
        Line(group, told, "events/s", value("appends", keys[variant]))
        for variant, told in _TOLD.items()
    ] + [
        Line(group, told, "×", ratio("appends", keys[above], keys[below]), target)
        for told, above, below, target in _RATIOS
    ]
