"""Drain what waits: by one worker process of each queue, by two, with a slow call."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Final

from bench import drain as floor
from bench.child import BenchError
from bench.ground import Ground
from bench.lines import Line, Round, Series, rotated
from bench.peers import cost
from bench.peers.field import Field, Fields, count
from bench.peers.lines import OURS, per_system, ratios, variants
from bench.peers.processes import WorkerProcess, wait_until_handled
from infrastructure.postgres.database import Connection, connect

FLOOR_1: Final = "SQL floor, one connection"
FLOOR_2: Final = "SQL floor, two connections"
_ALONE: Final = "SET max_parallel_workers_per_gather = 0"
"""What we count is counted by our own backend, whose time is not the queue's."""
_LOOK_SECONDS: Final = 0.005
_PATIENCE_SECONDS: Final = 120.0
_SETTLING_SECONDS: Final = 30.0
"""For what was handled to have ended as well."""

_COSTS: Final = {
    "worker CPU": "µs",
    "server CPU": "µs",
    "WAL": "bytes",
    "disk": "bytes",
    "dead rows": "rows",
    "peak memory": "MB",
}


@dataclass(frozen=True, slots=True)
class Drain:
    """Jobs per second, from the word `go` until all have ended in its own tables."""

    fields: Fields
    name: str
    title: str
    workers: int = 1
    mode: str = "noop"
    costs: bool = False
    """Whether the costs of a job are told as well."""
    targets: Mapping[str, str] | None = None
    """Of ours against another variant."""
    floor: tuple[Ground, str, int] | None = None
    """Where the floor is measured beside it: the template, and its jobs."""

    @property
    def lines(self) -> Sequence[Line]:
        """Rates, what they are of the others', and costs."""
        names = [it.system.name for it in self.fields.ready]
        floors = [FLOOR_1, FLOOR_2] if self.floor else []
        return [
            *variants(self.name, self.title, "jobs/s", names + floors),
            *ratios(self.name, self.title, names, self.targets or {}),
            *(self._of_the_floor() if self.floor and OURS in names else ()),
            *(per_system(self.name, names, _COSTS) if self.costs else ()),
        ]

    def round(self, turn: int) -> Mapping[str, float]:
        """Drain every queue once."""
        found: dict[str, float] = {}
        for it in rotated([None, *self.fields.ready], turn):
            if it is None:
                found |= self._floor(turn)
                continue
            try:
                found |= self._drained(it)
            except BenchError as error:
                self.fields.failed(it.system, self.name, turn, error)
        return found

    def series(self) -> Series:
        """Return nothing: rates are bars."""
        return {}

    def _of_the_floor(self) -> list[Line]:
        def of(it: Round) -> float:
            mine = it[self.name]
            return mine[OURS] / max(mine[FLOOR_1], mine[FLOOR_2])

        return [Line(self.title, f"{OURS} / the faster SQL floor", "×", of, "≥ 0.6")]

    def _floor(self, turn: int) -> dict[str, float]:
        if self.floor is None:
            return {}
        rates = floor.floors(*self.floor, turn)
        return {FLOOR_1: rates["floor_1"], FLOOR_2: rates["floor_2"]}

    def _drained(self, it: Field) -> dict[str, float]:
        name, folder = it.system.name, it.place.folder
        with (
            it.waiting() as conninfo,
            closing(connect(conninfo)) as connection,
            ExitStack() as stack,
        ):
            workers = [
                stack.enter_context(
                    WorkerProcess(it.system, conninfo, folder, self.mode)
                )
                for _ in range(self.workers)
            ]
            connection.execute(_ALONE)
            it.place.checkpoint()
            pids = [each.pid for each in workers]
            before = cost.look(connection, pids)
            began_at = time.monotonic()
            for each in workers:
                each.go()
            seconds = _ended_at(it, connection, workers) - began_at
            told = cost.per_job(before, cost.look(connection, pids), it.jobs)
            told["peak memory"] = sum(map(cost.peak_bytes, pids)) / 1e6
            for each in workers:
                each.stop()
            told["dead rows"] = cost.dead_rows(connection) / it.jobs
        costs = {f"{name}: {of}": value for of, value in told.items()}
        return {name: it.jobs / seconds} | (costs if self.costs else {})


def _ended_at(
    it: Field, connection: Connection, workers: Sequence[WorkerProcess]
) -> float:
    """Return the moment at which every job was seen to have ended.

    Nobody asks the database before the workers have said that they handled them
    all: counting rows would slow down those whose tables are slow to count.
    """
    wait_until_handled(workers, it.jobs, _PATIENCE_SECONDS)
    give_up_at = time.monotonic() + _SETTLING_SECONDS
    while True:
        looked_at = time.monotonic()
        ended = count(connection, it.system.ended, it.jobs)
        if ended == it.jobs:
            return looked_at
        if looked_at >= give_up_at:
            msg = f"{it.system.name}: {ended} of {it.jobs} handled jobs have ended"
            raise BenchError(msg)
        time.sleep(max(_LOOK_SECONDS, 2 * (time.monotonic() - looked_at)))
