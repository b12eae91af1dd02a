"""How fast one worker drains, over the number of jobs that wait for it."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from statistics import median
from typing import Final

from bench import floor
from bench.child import BenchError, WorkerProcess
from bench.ground import Ground
from bench.lines import Line, Series, ratio, rotated, value
from infrastructure.ids import new_id
from infrastructure.postgres.database import Connection, connect
from infrastructure.postgres.heads.table import number

_AT_ONCE: Final = 1_000
_LOOK_SECONDS: Final = 0.005
_PATIENCE_SECONDS: Final = 180.0
_RARE: Final = 2
"""The longest drain is taken in every so many rounds."""

_ANY_LEFT: Final = "SELECT EXISTS (SELECT FROM counterfoil.jobs)"
_SUCCEEDED: Final = (
    "SELECT count(*) FROM counterfoil.events WHERE type = 'job.succeeded'"
)


class Drains:
    """One worker, one backlog after the other."""

    name = "drains"

    def __init__(self, place: Ground, sizes: Sequence[int]) -> None:
        """Drain backlogs of so many jobs."""
        self._place = place
        self._sizes = list(sizes)
        self._rounds: list[Mapping[str, float]] = []

    @property
    def lines(self) -> Sequence[Line]:
        """The rate of each backlog, the longer ones beside the shortest."""
        least, *longer = self._sizes
        group = "one worker's drain, by the length of its backlog"
        return [
            Line(group, f"{least:,} jobs", "jobs/s", value(self.name, str(least))),
            *(
                Line(group, f"{jobs:,} jobs / {least:,} jobs", "×",
                     ratio(self.name, str(jobs), str(least)))
                for jobs in longer
            ),
        ]  # fmt: skip

    def round(self, turn: int) -> Mapping[str, float]:
        """Drain each backlog; the longest not in every round.

        Raises:
            BenchError: a backlog was not drained.
        """
        sizes = self._sizes if turn % _RARE == 0 else self._sizes[:-1]
        found = {str(jobs): self._drain(jobs) for jobs in rotated(sizes, turn)}
        self._rounds.append(found)
        return found

    def _drain(self, jobs: int) -> float:
        with ExitStack() as stack:
            conninfo = stack.enter_context(self._place.database())
            connection = stack.enter_context(closing(connect(conninfo)))
            _fill(connection, jobs)
            self._place.checkpoint()
            worker = stack.enter_context(WorkerProcess(conninfo, self._place.folder))
            began_at = time.monotonic()
            worker.go()
            _wait_until_empty(connection)
            seconds = time.monotonic() - began_at
            worker.stop()
            if number(connection.execute(_SUCCEEDED).fetchall()[0][0]) != jobs:
                msg = f"a drain of {jobs} jobs left some that did not succeed"
                raise BenchError(msg)
            return jobs / seconds

    def series(self) -> Series:
        """Return jobs per second over the length of the backlog."""
        return {
            "one worker's drain, jobs/s": [
                (
                    jobs,
                    median(it[str(jobs)] for it in self._rounds if str(jobs) in it),
                )
                for jobs in self._sizes
            ]
        }


def _fill(connection: Connection, jobs: int) -> None:
    for first in range(0, jobs, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, jobs))
        request = {
            "ids": [new_id() for _ in some],
            "args": [json.dumps({"n": n}) for n in some],
            "commit_id": str(new_id()),
        }
        connection.execute(floor.ENQUEUE, request)
    connection.execute("VACUUM ANALYZE")


def _wait_until_empty(connection: Connection) -> None:
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while connection.execute(_ANY_LEFT).fetchall()[0][0]:
        if time.monotonic() > give_up_at:
            msg = f"a drain did not end within {_PATIENCE_SECONDS:.0f} s"
            raise BenchError(msg)
        time.sleep(_LOOK_SECONDS)
