"""Many jobs in one transaction: the front door called for a set, and the floor."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

from bench import floor
from bench.child import BenchError
from bench.ground import Ground
from infrastructure.ids import new_id
from infrastructure.postgres.database import Connection, connect, transaction
from infrastructure.postgres.heads.table import number

_ENQUEUE: Final = """
SELECT count(counterfoil.enqueue(request))
  FROM unnest(%(requests)s::jsonb[]) AS t(request)
"""
_MADE: Final = """
SELECT (SELECT count(*) FROM counterfoil.jobs),
       (SELECT count(*) FROM counterfoil.events WHERE type = 'job.enqueued')
"""
_WARM_UP: Final = 1

type Way = Callable[[Connection, Sequence[int]], None]


def _enqueue(connection: Connection, numbers: Sequence[int]) -> None:
    requests = [json.dumps({"kind": "noop", "args": {"n": n}}) for n in numbers]
    connection.execute(_ENQUEUE, {"requests": requests})


def _rows(connection: Connection, numbers: Sequence[int]) -> None:
    connection.execute(
        floor.ENQUEUE,
        {
            "ids": [new_id() for _ in numbers],
            "args": [json.dumps({"n": n}) for n in numbers],
            "commit_id": str(new_id()),
        },
    )


_WAYS: Final[dict[str, Way]] = {"enqueue": _enqueue, "rows": _rows}


def bulk(place: Ground, times: int, jobs: int) -> dict[str, float]:
    """Return jobs per second of each way, in `times` transactions of `jobs` each."""
    seconds = dict.fromkeys(_WAYS, 0.0)
    with place.database() as conninfo, closing(connect(conninfo)) as connection:
        place.checkpoint()
        for turn in range(times + _WARM_UP):
            for name, way in _WAYS.items():
                began_at = time.perf_counter()
                with transaction(connection):
                    way(connection, range(jobs))
                if turn >= _WARM_UP:
                    seconds[name] += time.perf_counter() - began_at
        _require_made(connection, len(_WAYS) * (times + _WARM_UP) * jobs)
    return {name: times * jobs / spent for name, spent in seconds.items()}


def _require_made(connection: Connection, jobs: int) -> None:
    """Refuse figures of work that was not done."""
    found = [number(each) for each in connection.execute(_MADE).fetchall()[0]]
    if found != [jobs, jobs]:
        msg = f"jobs and their births are {found}, not {jobs} each"
        raise BenchError(msg)
