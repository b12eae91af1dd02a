"""What an append costs against the events that are there already.

Each size is a database of its own, a copy of the next smaller one with more events,
made before the first round.  The batches of all sizes take turns one by one, so that
every ratio is of the same second.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from application.unit import Written
from bench.child import BenchError
from bench.floor import LIVES
from bench.ground import EMPTY, Ground
from bench.lines import Line, Series, ratio, rotated, value
from bench.log import rows
from bench.sizes import Sizes
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database, connect
from infrastructure.postgres.heads.table import number

_FACTORS: Final = (1, 10, 100, 300)
_UNIT: Final = 4
"""The smallest log holds a fourth of what a drain of this run drains: 10,000."""
_BATCH: Final = 10
_WARM_UP: Final = 6

_COUNT: Final = "SELECT count(*) FROM counterfoil.events"


@dataclass(frozen=True, slots=True)
class Log:
    """One log of some size, and the store that appends to it."""

    events: int
    conninfo: str
    store: BatchStore

    @property
    def variant(self) -> str:
        """Its key in a round."""
        return f"{self.events} events"

    def append(self) -> float:
        """Return how many milliseconds a batch took.

        Raises:
            BenchError: something of it was refused.
        """
        batch = [rows.job() for _ in range(_BATCH)]
        began = time.monotonic()
        results = self.store.commit(batch)
        seconds = time.monotonic() - began
        if not all(isinstance(each, Written) for each in results):
            msg = f"an append to {self.variant} was refused: {results}"
            raise BenchError(msg)
        return seconds * 1e3


@dataclass(slots=True)
class Growth:
    """The measure: batches of births, by turns in every log."""

    place: Ground
    logs: Sequence[Log]
    batches: int
    name: str = "log growth"
    _rounds: list[Mapping[str, float]] = field(
        default_factory=list[Mapping[str, float]]
    )

    @property
    def lines(self) -> Sequence[Line]:
        """What a batch takes in each log, and beside the smallest one."""
        group = f"append of {_BATCH} births to a log of"
        least, *others = self.logs
        return [
            Line(group, each.variant, "ms", value("log growth", each.variant))
            for each in self.logs
        ] + [
            Line(group, f"{each.variant} / {least.variant}", "×",
                 ratio("log growth", each.variant, least.variant), "≤ 1.2")
            for each in others
        ]  # fmt: skip

    def round(self, turn: int) -> Mapping[str, float]:
        """Append to all logs by turns; the median of each."""
        before = [self._count(log) for log in self.logs]
        self.place.checkpoint()
        taken: dict[str, list[float]] = {log.variant: [] for log in self.logs}
        for n in range(_WARM_UP + self.batches):
            for log in rotated(self.logs, turn):
                milliseconds = log.append()
                if n >= _WARM_UP:
                    taken[log.variant].append(milliseconds)
        self._require(before)
        medians = {variant: median(each) for variant, each in taken.items()}
        self._rounds.append(medians)
        return medians

    def series(self) -> Series:
        """Return milliseconds per batch against the size of the log."""
        points = [
            (float(log.events), median(each[log.variant] for each in self._rounds))
            for log in self.logs
            if self._rounds
        ]
        return {"batch store": points}

    def _require(self, before: Sequence[int]) -> None:
        more = (_WARM_UP + self.batches) * _BATCH
        for log, had in zip(self.logs, before, strict=True):
            found = self._count(log)
            if found != had + more:
                msg = f"{log.variant}: {found - had} events appended, not {more}"
                raise BenchError(msg)

    @staticmethod
    def _count(log: Log) -> int:
        with closing(connect(log.conninfo)) as connection:
            return number(connection.execute(_COUNT).fetchall()[0][0])


@contextmanager
def growth(place: Ground, sizes: Sizes) -> Generator[Growth]:
    """Give the measure over four logs, the largest 300 times the smallest."""
    with ExitStack() as stack:
        made: list[tuple[int, str]] = []
        template, has = EMPTY, 0
        for factor in _FACTORS:
            events = max(sizes.drained_jobs // _UNIT, 3) // 3 * 3 * factor
            conninfo = stack.enter_context(place.database(template))
            with closing(connect(conninfo)) as connection:
                connection.execute(LIVES, {"lives": (events - has) // 3})
                connection.execute("VACUUM ANALYZE counterfoil.events")
                row = connection.execute("SELECT current_database()").fetchall()[0]
            template, has = str(row[0]), events
            made.append((events, conninfo))
        # Connected only now: a template that somebody uses cannot be copied.
        logs = [
            Log(
                events,
                conninfo,
                BatchStore(stack.enter_context(Database(conninfo, pool_size=1))),
            )
            for events, conninfo in made
        ]
        yield Growth(place, logs, max(10, sizes.singles // 5))
