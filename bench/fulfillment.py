"""Orders fulfilled end to end: settled, fanned out, created in the panel, recorded.

Two worker processes of the product and the panel simulator, which keeps a durable
book of every request and so costs a good part of the time: for information.
"""

import json
import time
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from bench.child import BenchError
from bench.ground import Ground
from bench.single import order
from infrastructure.demo.figures import progress
from infrastructure.demo.processes import Place, Processes
from infrastructure.postgres.database import Connection, connect
from infrastructure.postgres.heads.table import number

_WORKERS: Final = 2
_LOOK_SECONDS: Final = 0.05
_PATIENCE_SECONDS: Final = 60.0

_SETTLE: Final = "SELECT counterfoil.settle_order(%(request)s::jsonb)"
_READY: Final = "SELECT count(*) FROM counterfoil.workers"


def fulfillment(place: Ground, orders: int) -> dict[str, float]:
    """Return orders per second, from the first settlement to the last fulfilment."""
    folder = Path(mkdtemp(prefix="panel-", dir=place.folder))
    with place.database() as conninfo, Processes(Place(folder, conninfo)) as processes:
        start(processes, conninfo)
        place.checkpoint()
        seconds = settle_and_fulfill(processes, conninfo, orders)
    return {"orders": orders / seconds}


def start(processes: Processes, conninfo: str) -> None:
    """Start the panel and the workers; return when they are ready."""
    processes.start_panel(fault_rate=0.0, seed=1)
    for _ in range(_WORKERS):
        processes.start_worker()
    with closing(connect(conninfo)) as connection:
        _wait_until_ready(connection, processes)


def settle_and_fulfill(processes: Processes, conninfo: str, orders: int) -> float:
    """Return how many seconds that took; afterwards every process has ended.

    Raises:
        BenchError: an order was not fulfilled, or a worker did not end politely.
    """
    with closing(connect(conninfo)) as connection:
        began_at = time.monotonic()
        for n in range(orders):
            connection.execute(_SETTLE, {"request": json.dumps(order(n))})
        _wait_until_fulfilled(connection, orders)
        seconds = time.monotonic() - began_at
    codes = processes.stop_workers()
    processes.stop_simulators()
    if any(codes):
        msg = f"workers ended with {codes}; see {processes.place.folder}"
        raise BenchError(msg)
    return seconds


def _wait_until_ready(connection: Connection, processes: Processes) -> None:
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while number(connection.execute(_READY).fetchall()[0][0]) < _WORKERS:
        processes.require_alive([])
        if time.monotonic() >= give_up_at:
            msg = "the workers did not register"
            raise BenchError(msg)
        time.sleep(_LOOK_SECONDS)


def _wait_until_fulfilled(connection: Connection, orders: int) -> None:
    """Return when every order is fulfilled.

    Raises:
        BenchError: one is dead, or they are not in time.
    """
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while True:
        now = progress(connection)
        if now.fulfilled == orders and now.unfinished == 0:
            return
        if now.dead or time.monotonic() >= give_up_at:
            msg = f"of {orders} orders: {now}"
            raise BenchError(msg)
        time.sleep(_LOOK_SECONDS)
