"""Counterfoil through its public doors: SQL functions, and the processor's worker."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Final, LiteralString

import msgspec

from application.context import Context
from application.job_kinds import JobKind, by_name
from bench.peers.contract import CALL_SECONDS, PAY, Stop, Tally, drive
from bench.peers.systems import POLLS
from domain.jobs.outcome import Completed, Outcome
from infrastructure.bootstrap import WORKER_POOL
from infrastructure.limits import set_limits
from infrastructure.postgres.database import Connection, Database, connect
from infrastructure.postgres.migrator import migrate, require_current
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.telemetry import listen, show

_LIMIT: Final = 8
"""Of the queue, as the product starts."""
_CALLING_LIMIT: Final = 256
"""Threads that wait for a provider cost next to nothing."""

_ENQUEUE: Final = "SELECT counterfoil.enqueue(%(request)s::jsonb)"
_ENQUEUE_EACH: Final = """
SELECT count(counterfoil.enqueue(request))
  FROM unnest(%(requests)s::jsonb[]) AS t(request)
"""
_ENQUEUE_MANY: Final = "SELECT counterfoil.enqueue_many(%(requests)s::jsonb[])"
_HAS_MANY: Final = "SELECT to_regproc('counterfoil.enqueue_many') IS NOT NULL"


class _Args(msgspec.Struct, frozen=True):
    n: int


def _request(n: int) -> str:
    return json.dumps({"kind": "noop", "args": {"n": n}})


class _Counterfoil:
    """Its calls block; nothing else waits for them."""

    def __init__(self) -> None:
        self._conninfo = os.environ["COUNTERFOIL_DATABASE_URL"]
        self._many: LiteralString = _ENQUEUE_EACH
        self._connection: Connection

    async def setup(self) -> None:
        migrate(self._conninfo)
        # The others have no limits either.
        set_limits(self._conninfo, pending=0, tenant_pending=0)

    async def open(self) -> None:
        self._connection = connect(self._conninfo)
        if self._connection.execute(_HAS_MANY).fetchall()[0][0]:
            self._many = _ENQUEUE_MANY

    async def enqueue(self, n: int) -> None:
        self._connection.execute(_ENQUEUE, {"request": _request(n)})

    async def enqueue_many(self, numbers: list[int]) -> None:
        self._connection.execute(self._many, {"requests": [*map(_request, numbers)]})

    async def pay(self, n: int | None) -> None:
        with self._connection.transaction():
            self._connection.execute(PAY)
            if n is not None:
                await self.enqueue(n)

    async def work(self, tally: Tally, ready: Callable[[], Awaitable[None]]) -> None:
        require_current(self._conninfo)

        def handle(args: _Args, _ctx: Context) -> Outcome:
            tally.begin(args.n)
            if tally.calls:
                time.sleep(CALL_SECONDS)
            return Completed()

        kinds = by_name(
            JobKind(name="noop", args=_Args, handler=handle, asks_provider=tally.calls)
        )
        limit = _CALLING_LIMIT if tally.calls else _LIMIT
        with ExitStack() as stack:
            stack.enter_context(listen(show))
            pool = stack.enter_context(Database(self._conninfo, pool_size=WORKER_POOL))
            options = WorkerOptions(
                queues={"default": limit},
                listen_url=None if POLLS in os.environ else self._conninfo,
            )
            worker = Worker(pool, kinds, options)
            await ready()
            worker.start()
            await Stop().wait()
            worker.stop()


if __name__ == "__main__":
    asyncio.run(drive(_Counterfoil(), sys.argv[1:]))
