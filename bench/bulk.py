"""Many jobs in one transaction: by the door for many, by the client, and the floor.

The floor gets its ids and arguments ready-made and answers nothing; the door draws the
ids, checks every member of every request, and answers each with its job.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

from bench import floor
from bench.child import BenchError
from bench.ground import Ground
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.database import Connection, connect, transaction
from infrastructure.postgres.heads.table import number

_ENQUEUE: Final = "SELECT * FROM counterfoil.enqueue_many(%(requests)s::jsonb[])"
_MADE: Final = """
SELECT (SELECT count(*) FROM counterfoil.jobs),
       (SELECT count(*) FROM counterfoil.events WHERE type = 'job.enqueued')
"""
_WARM_UP: Final = 1

type Way = Callable[[Connection, Sequence[int]], None]


def _enqueue(connection: Connection, numbers: Sequence[int]) -> None:
    requests = [json.dumps({"kind": "noop", "args": {"n": n}}) for n in numbers]
    connection.execute(_ENQUEUE, {"requests": requests}).fetchall()


def _client(connection: Connection, numbers: Sequence[int]) -> None:
    Client(connection).enqueue_many(
        [{"kind": "noop", "args": {"n": n}} for n in numbers]
    )


def _rows(connection: Connection, numbers: Sequence[int]) -> None:
    connection.execute(
        floor.ENQUEUE,
        {
            "ids": [new_id() for _ in numbers],
            "args": [json.dumps({"n": n}) for n in numbers],
            "commit_id": str(new_id()),
        },
    )


_WAYS: Final[dict[str, Way]] = {
    "enqueue": _enqueue,
    "client": _client,
    "rows": _rows,
}


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
