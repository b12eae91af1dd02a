"""One transaction of a caller, with and without us in it.

own          BEGIN, a payment of his own, COMMIT: what he pays anyway
rows         the same, and the rows of one job by plain SQL: the floor
enqueue      the same, and `counterfoil.enqueue`
client       the same, and `Client.enqueue` of the Python client
settle       the same, and `counterfoil.settle_order`: order, job, message and keys

The variants take turns transaction by transaction, over one connection.
"""

import json
import time
from collections.abc import Callable
from contextlib import closing
from statistics import median
from typing import Final

from bench import floor
from bench.child import BenchError
from bench.ground import Ground
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.database import Connection, connect
from infrastructure.postgres.heads.table import number

_WARM_UP: Final = 10
"""Transactions before the clock runs: the driver prepares a statement at the fifth."""

_PAY: Final = """
INSERT INTO shop.payments (id, customer_id, amount_minor)
VALUES (%(id)s, %(customer_id)s, 1490)
"""
_ENQUEUE: Final = "SELECT counterfoil.enqueue(%(request)s::jsonb)"
_SETTLE: Final = "SELECT counterfoil.settle_order(%(request)s::jsonb)"

_MADE: Final = """
SELECT (SELECT count(*) FROM shop.payments),
       (SELECT count(*) FROM counterfoil.jobs),
       (SELECT count(*) FROM counterfoil.orders),
       (SELECT count(*) FROM counterfoil.events)
"""

type Step = Callable[[Connection, int], None]


def _own(_connection: Connection, _n: int) -> None:
    return


def _rows(connection: Connection, n: int) -> None:
    connection.execute(
        floor.ENQUEUE,
        {
            "ids": [new_id()],
            "args": [json.dumps({"n": n})],
            "commit_id": str(new_id()),
        },
    )


def _enqueue(connection: Connection, n: int) -> None:
    request = {"kind": "noop", "args": {"n": n}}
    connection.execute(_ENQUEUE, {"request": json.dumps(request)})


def _client(connection: Connection, n: int) -> None:
    Client(connection).enqueue("noop", {"n": n})


def _settle(connection: Connection, n: int) -> None:
    connection.execute(_SETTLE, {"request": json.dumps(order(n))})


def order(n: int) -> dict[str, object]:
    """Return the request to settle the first order of customer `n`."""
    return {
        "orderId": f"order-{n}",
        "customerId": f"customer-{n}",
        "kind": "purchase",
        "currency": "EUR",
        "amountMinor": 1490,
        "lines": [{"line": 1, "type": "access", "days": 30}],
    }


VARIANTS: Final[dict[str, Step]] = {
    "own": _own,
    "rows": _rows,
    "enqueue": _enqueue,
    "client": _client,
    "settle": _settle,
}


def single(place: Ground, times: int) -> dict[str, float]:
    """Return milliseconds: of each variant's transaction, and of its added step.

    Medians of `times` transactions; a mean would tell of other people's disks.
    """
    whole: dict[str, list[float]] = {name: [] for name in VARIANTS}
    added: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with place.database() as conninfo, closing(connect(conninfo)) as connection:
        place.checkpoint()
        for n in range(times + _WARM_UP):
            for name, step in VARIANTS.items():
                spent, of_step = _timed(connection, step, n)
                if n >= _WARM_UP:
                    whole[name].append(spent)
                    added[name].append(of_step)
        _require_made(connection, times + _WARM_UP)
    return {name: median(each) for name, each in whole.items()} | {
        f"{name}_step": median(each) for name, each in added.items()
    }


def _timed(connection: Connection, step: Step, n: int) -> tuple[float, float]:
    began_at = time.perf_counter()
    with connection.transaction():
        payment = {"id": new_id(), "customer_id": f"customer-{n}"}
        connection.execute(_PAY, payment)
        stepped_at = time.perf_counter()
        step(connection, n)
        of_step = time.perf_counter() - stepped_at
    return (time.perf_counter() - began_at) * 1e3, of_step * 1e3


def _require_made(connection: Connection, times: int) -> None:
    """Refuse figures of work that was not done: the rows of every variant are there."""
    found = [number(each) for each in connection.execute(_MADE).fetchall()[0]]
    jobs = 4 * times
    expected = [len(VARIANTS) * times, jobs, times, jobs + times]
    if found != expected:
        msg = f"payments, jobs, orders, events are {found}, not {expected}"
        raise BenchError(msg)
