"""Drain no-op jobs: a worker process, and the floor on one and on two connections."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from threading import Thread
from typing import Final

from bench import floor
from bench.child import BenchError, WorkerProcess
from bench.ground import WAITING, Ground
from bench.lines import rotated
from infrastructure.postgres.database import Connection, connect
from infrastructure.postgres.heads.table import number, text
from infrastructure.processor.settler import LARGEST_BATCH

_LOOK_SECONDS: Final = 0.005
_PATIENCE_SECONDS: Final = 120.0

# Costs nothing, however long the table's dead rows are: a look at one page.
_LAST_POSITION: Final = "SELECT counterfoil.last_position()"
_ANY_LEFT: Final = "SELECT EXISTS (SELECT FROM counterfoil.jobs)"

_LEFT: Final = """
SELECT 'jobs', count(*) FROM counterfoil.jobs
 UNION ALL
SELECT 'outbox', count(*) FROM counterfoil.outbox
 UNION ALL
SELECT type, count(*) FROM counterfoil.events GROUP BY type
"""

type Way = Callable[[Ground, str, int], float]


def drain(place: Ground, jobs: int, turn: int) -> dict[str, float]:
    """Return jobs per second: by a worker, by the floor's one and two connections.

    Whoever begins changes with `turn`, so that nobody always follows the same one.
    """
    return _rates(place, jobs, turn, {"worker": _by_worker, **_FLOORS})


def floors(place: Ground, template: str, jobs: int, turn: int) -> dict[str, float]:
    """Return jobs per second by the floor alone, over clones of `template`."""
    return _rates(place, jobs, turn, _FLOORS, template)


def _rates(
    place: Ground,
    jobs: int,
    turn: int,
    by_name: Mapping[str, Way],
    template: str = WAITING,
) -> dict[str, float]:
    return {
        name: jobs / _timed(place, template, jobs, way)
        for name, way in rotated(list(by_name.items()), turn)
    }


def _timed(place: Ground, template: str, jobs: int, way: Way) -> float:
    with place.database(template) as conninfo:
        seconds = way(place, conninfo, jobs)
        with closing(connect(conninfo)) as connection:
            require_drained(connection, jobs)
        return seconds


def _by_worker(place: Ground, conninfo: str, jobs: int) -> float:
    with (
        closing(connect(conninfo)) as connection,
        WorkerProcess(conninfo, place.folder) as worker,
    ):
        done_at = number(connection.execute(_LAST_POSITION).fetchall()[0][0]) + 2 * jobs
        began_at = time.monotonic()
        worker.go()
        _wait_until_empty(connection, done_at)
        seconds = time.monotonic() - began_at
        worker.stop()
        return seconds


def _wait_until_empty(connection: Connection, done_at: int) -> None:
    """Return when every job was claimed and succeeded: two positions each."""
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < give_up_at:
        drawn = number(connection.execute(_LAST_POSITION).fetchall()[0][0])
        if drawn >= done_at and not connection.execute(_ANY_LEFT).fetchall()[0][0]:
            return
        time.sleep(_LOOK_SECONDS)
    msg = f"the drain did not end within {_PATIENCE_SECONDS:.0f} s"
    raise BenchError(msg)


def _by_floor_1(_place: Ground, conninfo: str, _jobs: int) -> float:
    return _by_floor(conninfo, 1)


def _by_floor_2(_place: Ground, conninfo: str, _jobs: int) -> float:
    return _by_floor(conninfo, 2)


def _by_floor(conninfo: str, connections: int) -> float:
    opened = [connect(conninfo) for _ in range(connections)]
    threads = [Thread(target=_call, args=(connection,)) for connection in opened]
    began_at = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began_at
    for connection in opened:
        connection.close()
    return seconds


_FLOORS: Final[dict[str, Way]] = {"floor_1": _by_floor_1, "floor_2": _by_floor_2}


def _call(connection: Connection) -> None:
    # What it could not drain is found by the count afterwards.
    connection.execute(floor.DRAIN, {"batch": LARGEST_BATCH})


def require_drained(connection: Connection, jobs: int) -> None:
    """Refuse a drain that did not write every row it should have.

    Raises:
        BenchError: with the counts that were found.
    """
    found = {
        text(row[0]): number(row[1]) for row in connection.execute(_LEFT).fetchall()
    }
    expected = {
        "jobs": 0,
        "outbox": jobs,
        "job.enqueued": jobs,
        "job.claimed": jobs,
        "job.succeeded": jobs,
    }
    if found != expected:
        msg = f"a drain of {jobs} jobs left {found}"
        raise BenchError(msg)
