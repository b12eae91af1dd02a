"""Pick-up latency: from the answer of COMMIT to the first line of the handler.

Two kinds of idle: a worker that did something within the last second looks every
5 ms, one that has been idle for two seconds every 50 ms.  Each is measured while it
only polls, and while it listens for notices too.  Sender and worker read one clock,
the machine's monotonic one.
"""

import json
import random
import time
from contextlib import closing
from typing import Final

from bench.child import BenchError, WorkerProcess
from bench.ground import Ground
from bench.sizes import Sizes
from infrastructure.postgres.database import Connection, connect

_ENQUEUE: Final = "SELECT counterfoil.enqueue(%(request)s::jsonb)"
_SHORT_SECONDS: Final = (0.02, 0.08)
"""Pause before a sample: random, so that it does not fall in step with the poller."""
_LONG_SECONDS: Final = (2.2, 2.4)
_APART_SECONDS: Final = (0.02, 0.04)
"""Between samples of idle workers: they share two cores, and one must not wait for
another's."""
_SETTLE_DOWN_SECONDS: Final = 0.5
_WARM_UP: Final = 10
_PATIENCE_SECONDS: Final = 30.0
_ANY_LEFT: Final = "SELECT EXISTS (SELECT FROM counterfoil.jobs)"


def latency(place: Ground, sizes: Sizes) -> dict[str, list[float]]:
    """Return samples in milliseconds: `busy` within a second of work, and `idle`.

    `polling` or `listening` says whether notices could be heard.
    """
    idle = [f"idle-{n}" for n in range(sizes.idle_workers)]
    samples: dict[str, list[float]] = {}
    for name, listens in (("polling", False), ("listening", True)):
        samples[f"{name}_busy"] = _sampled(
            place, [], sizes.pickups, _SHORT_SECONDS, listens=listens
        )
        samples[f"{name}_idle"] = _sampled(
            place, idle, sizes.idle_pickups, _LONG_SECONDS, listens=listens
        )
    return samples


def _sampled(
    place: Ground,
    queues: list[str],
    times: int,
    pause: tuple[float, float],
    *,
    listens: bool,
) -> list[float]:
    """Return `times` samples of the default queue's worker, or of each of `queues`."""
    committed: dict[int, int] = {}
    warm_up = 0 if queues else _WARM_UP
    with (
        place.database() as conninfo,
        closing(connect(conninfo)) as connection,
        WorkerProcess(conninfo, place.folder, *queues, listens=listens) as worker,
    ):
        place.checkpoint()
        worker.go()
        time.sleep(_SETTLE_DOWN_SECONDS)
        for _ in range(times + warm_up):
            time.sleep(random.uniform(*pause))  # noqa: S311 - out of step, no secret
            for queue in queues or ["default"]:
                time.sleep(random.uniform(*_APART_SECONDS))  # noqa: S311 - as above
                _send(connection, queue, committed)
        _wait_until_empty(connection)
        began = worker.stop()
    if began.keys() != committed.keys():
        msg = f"{len(began)} of {len(committed)} jobs were handled"
        raise BenchError(msg)
    return [(began[n] - at) / 1e6 for n, at in committed.items() if n >= warm_up]


def _send(connection: Connection, queue: str, committed: dict[int, int]) -> None:
    n = len(committed)
    request = {"kind": "noop", "queue": queue, "args": {"n": n}}
    connection.execute(_ENQUEUE, {"request": json.dumps(request)})
    committed[n] = time.monotonic_ns()


def _wait_until_empty(connection: Connection) -> None:
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while connection.execute(_ANY_LEFT).fetchall()[0][0]:
        if time.monotonic() >= give_up_at:
            msg = f"jobs are left after {_PATIENCE_SECONDS:.0f} s"
            raise BenchError(msg)
        time.sleep(0.05)
