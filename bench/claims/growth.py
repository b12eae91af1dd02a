"""What grows with what: each measure against the size that it might depend on.

enqueue   one call of the front door, over the number of jobs that wait already
list      a page of `counterfoil jobs`, over the same
one       `counterfoil job ID`, over the same
beat      a heartbeat, over the number of jobs that its worker holds
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from statistics import median
from typing import Any, Final

import psycopg

from application.job_kinds import JobKind
from bench.child import BenchError
from bench.claims.tables import BUSY, KIND, Table, lay_due
from bench.ground import Ground
from bench.lines import Line, Series, ratio, rotated, value
from bench.worker import NoopArgs
from domain.jobs.outcome import Completed
from infrastructure.client import Client
from infrastructure.postgres.database import connect
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.heartbeat import beat
from infrastructure.processor.identity import this_process
from infrastructure.processor.leases import Held, Leases
from projections.job_history import JobHistory
from projections.job_list import JobFilter, JobList

_TIMES: Final = 20
_UNCLAIMED: Final = "critical"
"""The queue of what is enqueued here; no measure claims from it."""

STEPS: Final = {
    "enqueue": "a single enqueue",
    "list": "a page of `counterfoil jobs`",
    "one": "`counterfoil job ID`",
}
HELD: Final = (1, 10, 100, 500)


def _ms(step: Callable[[], object]) -> float:
    began_at = time.perf_counter()
    step()
    return (time.perf_counter() - began_at) * 1e3


class Reading:
    """The front door and the operator's questions beside more and more jobs."""

    name = "growth"

    def __init__(self, tables: Sequence[Table], stack: ExitStack) -> None:
        """Sit at every table of the far future, and at the empty one."""
        self._rounds: list[Mapping[str, float]] = []
        self._desks = [
            (table.far, stack.enter_context(closing(connect(table.conninfo))))
            for table in tables
            if table.far or table.name == "empty"
        ]
        _read(self._desks)

    @property
    def lines(self) -> Sequence[Line]:
        """Each step beside the least and the most jobs."""
        most = self._desks[-1][0]
        return [
            line
            for step, title in STEPS.items()
            for line in (
                Line("beside jobs that wait", f"{title}, nothing waits", "ms",
                     value(self.name, f"{step}/0")),
                Line("beside jobs that wait", f"{title}, {most:,} wait", "×",
                     ratio(self.name, f"{step}/{most}", f"{step}/0")),
            )
        ]  # fmt: skip

    def round(self, turn: int) -> Mapping[str, float]:
        """Take every step at every table, by turns.

        Raises:
            BenchError: an answer was not what was asked for.
        """
        found = _read(rotated(self._desks, turn))
        self._rounds.append(found)
        return found

    def series(self) -> Series:
        """Return milliseconds over the number of jobs that wait."""
        return {
            f"{title}, ms": [
                (far, median(it[f"{step}/{far}"] for it in self._rounds))
                for far, _ in self._desks
            ]
            for step, title in STEPS.items()
        }


def _read(desks: Sequence[tuple[int, psycopg.Connection[Any]]]) -> dict[str, float]:
    spent: dict[str, list[float]] = {}
    for _ in range(_TIMES):
        for far, connection in desks:
            for step, ms in _steps(connection):
                spent.setdefault(f"{step}/{far}", []).append(ms)
    return {key: median(samples) for key, samples in spent.items()}


def _steps(connection: psycopg.Connection[Any]) -> list[tuple[str, float]]:
    @contextmanager
    def lend() -> Generator[psycopg.Connection[Any]]:
        yield connection

    client = Client(connection)
    job = client.enqueue(KIND, {"n": 1}, queue=_UNCLAIMED).job_id
    page = JobList(lend)(JobFilter())
    story = JobHistory(lend)(job)
    if page.jobs[0].job_id != job or story is None or story.state != "waiting":
        msg = "the operator's questions did not find the newest job"
        raise BenchError(msg)
    return [
        ("enqueue", _ms(lambda: client.enqueue(KIND, {"n": 1}, queue=_UNCLAIMED))),
        ("list", _ms(lambda: JobList(lend)(JobFilter()))),
        ("one", _ms(lambda: JobHistory(lend)(job))),
    ]


class Beating:
    """A worker's heartbeat while it holds more and more jobs."""

    name = "heartbeat"

    def __init__(self, place: Ground, stack: ExitStack) -> None:
        """Claim as many jobs as will ever be held."""
        conninfo = stack.enter_context(place.database())
        self._connection = stack.enter_context(closing(connect(conninfo)))
        self._owner = this_process()
        self._held = self._claim(max(HELD))
        self._rounds: list[Mapping[str, float]] = []

    def _claim(self, jobs: int) -> list[Held]:
        kind = JobKind(name=KIND, args=NoopArgs, handler=lambda _, __: Completed())
        lay_due(self._connection, jobs)
        claimer = Claimer(self._owner, {KIND: kind.lease_seconds})
        claimed = claimer.scan(self._connection, Lane(BUSY, (KIND,)), jobs, 1.0).jobs
        leases = Leases()
        return leases.take([(job, kind) for job in claimed], leases.now())

    @property
    def lines(self) -> Sequence[Line]:
        """A heartbeat of the fewest, and what one more job adds."""
        few, most = HELD[0], HELD[-1]

        def of_each(it: Mapping[str, Mapping[str, float]]) -> float:
            added = it[self.name][str(most)] - it[self.name][str(few)]
            return added / (most - few) * 1e3

        return [
            Line("heartbeat", f"{few} job held", "ms", value(self.name, str(few))),
            Line("heartbeat", f"{most} jobs held", "ms", value(self.name, str(most))),
            Line("heartbeat", "each job more", "µs", of_each),
        ]

    def round(self, turn: int) -> Mapping[str, float]:
        """Beat for each number of jobs, by turns.

        Raises:
            BenchError: a lease was not confirmed.
        """
        numbers = rotated(HELD, turn)
        spent: dict[str, list[float]] = {str(jobs): [] for jobs in HELD}
        for _ in range(_TIMES):
            for jobs in numbers:
                spent[str(jobs)].append(_ms(partial(self._beat, jobs)))
        found = {jobs: median(samples) for jobs, samples in spent.items()}
        self._rounds.append(found)
        return found

    def _beat(self, jobs: int) -> None:
        told = beat(self._connection, self._owner, self._held[:jobs])
        if sum(each.is_confirmed for each in told) != jobs:
            msg = f"a heartbeat of {jobs} jobs confirmed fewer"
            raise BenchError(msg)

    def series(self) -> Series:
        """Return milliseconds over the number of jobs held."""
        return {
            "a heartbeat, ms": [
                (jobs, median(it[str(jobs)] for it in self._rounds)) for jobs in HELD
            ]
        }
