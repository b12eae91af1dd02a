"""A shop that pays no attention to its queue: `python -m bench.outages.producer`.

It keeps its pace in small transactions: rows of its own and their jobs, by one
statement of the system under test.  When the database is away it tries again,
politely, and the orders of that time are never made.  Standard output tells each
transaction: `c` confirmed or `u` unknown, first job, last job, nanoseconds of the
monotonic clock.  It says `ready` first, works from the line `go` on, and stops when
its standard input ends.
"""

import os
import sys
import time
from threading import Event, Thread
from typing import Final

import msgspec
import psycopg
from psycopg import sql

JOBS_AT_ONCE: Final = 4
_RETRY_SECONDS: Final = 0.05
_CONNECT_SECONDS: Final = 3
_SPEC: Final = "BENCH_PRODUCER"

CREATE_ORDERS: Final = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders (
    n         bigint      NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT orders_pkey PRIMARY KEY (n)
);
"""
OWN_ROWS: Final = """
INSERT INTO shop.orders (n) SELECT generate_series(%(first)s::int, %(last)s::int)
"""

type _Connection = psycopg.Connection[tuple[object, ...]]


class Pace(msgspec.Struct, frozen=True):
    """What the producer is told by its environment."""

    conninfo: str
    enqueue: str
    """A statement of two parameters: jobs `first` to `last`."""
    jobs_per_second: float

    def environment(self) -> dict[str, str]:
        """Return it as it is handed to the process."""
        return {_SPEC: msgspec.json.encode(self).decode()}


class Producer:
    """Places orders until it is told to stop."""

    def __init__(self, pace: Pace, stop: Event) -> None:
        """Prepare; nothing is placed yet."""
        self._pace = pace
        self._stop = stop
        self._enqueue = sql.SQL(pace.enqueue)  # pyright: ignore[reportArgumentType] - written in bench/outages, handed over by the environment
        self._next = 0

    def run(self) -> None:
        """Place orders at the pace; those of an outage are left out."""
        while not self._stop.is_set():
            try:
                with psycopg.connect(
                    self._pace.conninfo,
                    connect_timeout=_CONNECT_SECONDS,
                    application_name="shop",
                ) as connection:
                    self._place_orders(connection)
            except psycopg.OperationalError:
                self._stop.wait(_RETRY_SECONDS)

    def _place_orders(self, connection: _Connection) -> None:
        between = JOBS_AT_ONCE / self._pace.jobs_per_second
        due_at = time.monotonic()
        while not self._stop.is_set():
            self._place(connection)
            due_at = max(due_at + between, time.monotonic() - between)
            self._stop.wait(max(due_at - time.monotonic(), 0))

    def _place(self, connection: _Connection) -> None:
        numbers = {"first": self._next, "last": self._next + JOBS_AT_ONCE - 1}
        self._next += JOBS_AT_ONCE
        connection.execute(OWN_ROWS, numbers)
        connection.execute(self._enqueue, numbers)
        try:
            connection.commit()
        except psycopg.OperationalError:
            _tell("u", numbers)
            raise
        _tell("c", numbers)


def _tell(answer: str, numbers: dict[str, int]) -> None:
    print(answer, numbers["first"], numbers["last"], time.monotonic_ns(), flush=True)


def main() -> None:
    """Run one producer as the environment says."""
    stop = Event()
    producer = Producer(msgspec.json.decode(os.environ[_SPEC], type=Pace), stop)
    print("ready", flush=True)
    if sys.stdin.readline().strip() != "go":
        return
    working = Thread(target=producer.run, name="producer")
    working.start()
    sys.stdin.read()
    stop.set()
    working.join()


if __name__ == "__main__":
    main()
