"""A job from enqueue to success, in batches: our three statements, and stock's saves.

Ours writes three events, a head that comes and goes, and a message for the outbox;
stock writes three events of an aggregate and notifies.  Each side does a batch per
transaction and step, and each turn begins with an empty database.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import batched
from typing import Final

from bench.child import BenchError
from bench.drain import require_drained
from bench.ground import Ground
from bench.lines import Line, Series, ratio, value
from bench.log.stock import jobs_of
from infrastructure.ids import new_id
from infrastructure.postgres.database import Connection, connect
from infrastructure.postgres.heads.table import number
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.identity import actor_of, this_process
from infrastructure.processor.succeed import Stamp, Success, succeed

BATCHES: Final = {1: 0.5, 100: 10.0}
"""Jobs per batch size, for each transaction that the run's size asks for."""

_ENQUEUE: Final = "SELECT * FROM counterfoil.enqueue_many(%(requests)s::jsonb[])"
_LANE: Final = Lane("default", ("noop",))
_STOCK_EVENTS: Final = "SELECT count(*) FROM stockjobs_events"

type Way = Callable[[str, int, int], float]


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The measure: both sides by turns, in batches of each size."""

    place: Ground
    singles: int
    name: str = "lifecycle"

    @property
    def lines(self) -> Sequence[Line]:
        """Rates, and the ratio within each round."""
        return [line for batch in BATCHES for line in _lines(batch)]

    def round(self, turn: int) -> Mapping[str, float]:
        """Take jobs through their lives on both sides."""
        ways = list(_WAYS.items())
        if turn % 2:
            ways.reverse()
        return {
            f"{name} {batch}": self._rate(way, batch)
            for batch in BATCHES
            for name, way in ways
        }

    def series(self) -> Series:
        """Nothing is drawn."""
        return {}

    def _rate(self, way: Way, batch: int) -> float:
        jobs = max(1, round(self.singles * BATCHES[batch] / batch)) * batch
        with self.place.database() as conninfo:
            return jobs / way(conninfo, jobs, batch)


_EVENTS_PER_JOB: Final = 3


def _by_us(conninfo: str, jobs: int, batch: int) -> float:
    with closing(connect(conninfo)) as connection:
        began = time.monotonic()
        for numbers in batched(range(jobs), batch, strict=False):
            requests = [
                json.dumps({"kind": "noop", "args": {"n": n}, "notify": False})
                for n in numbers
            ]
            connection.execute(_ENQUEUE, {"requests": requests})
        _claim_and_succeed(connection, jobs, batch)
        seconds = time.monotonic() - began
        require_drained(connection, jobs)
    return seconds


def _claim_and_succeed(connection: Connection, jobs: int, batch: int) -> None:
    owner = this_process()
    claimer, actor = Claimer(owner, {"noop": 60}), actor_of(owner)
    left = jobs
    while left > 0:
        found = claimer.scan(connection, _LANE, batch, time.monotonic()).jobs
        successes = [Success(each.id, each.token, None) for each in found]
        done = sum(succeed(connection, successes, Stamp(actor, new_id())))
        if done == 0:
            msg = f"{left} jobs were not to be had"
            raise BenchError(msg)
        left -= done


def _by_stock(conninfo: str, jobs: int, batch: int) -> float:
    with jobs_of(conninfo) as stock:
        began = time.monotonic()
        enqueued = [
            stock.enqueue(min(batch, jobs - first)) for first in range(0, jobs, batch)
        ]
        for ids in enqueued:
            stock.claim(ids)
            stock.succeed(ids)
        seconds = time.monotonic() - began
    with closing(connect(conninfo)) as connection:
        found = number(connection.execute(_STOCK_EVENTS).fetchall()[0][0])
    if found != _EVENTS_PER_JOB * jobs:
        msg = f"stock wrote {found} events for {jobs} jobs"
        raise BenchError(msg)
    return seconds


_WAYS: Final[Mapping[str, Way]] = {"ours": _by_us, "stock": _by_stock}


def _lines(batch: int) -> list[Line]:
    group = f"job lifecycle, batches of {batch}, one connection"
    ours, stock = f"ours {batch}", f"stock {batch}"
    return [
        Line(group, "enqueue, claim, succeed; heads and outbox", "jobs/s",
             value("lifecycle", ours)),
        Line(group, "an aggregate of the stock library", "jobs/s",
             value("lifecycle", stock)),
        Line(group, "ours / stock", "×", ratio("lifecycle", ours, stock), "≥ 5"),
    ]  # fmt: skip
