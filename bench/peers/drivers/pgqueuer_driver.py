"""PgQueuer over asyncpg and uvloop."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import asyncpg
import uvloop
from pgqueuer import PgQueuer, Queries
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job

from bench.peers.contract import CALL_SECONDS, PAY, Stop, Tally, drive

_BATCH: Final = 1_000


def _payload(n: int) -> bytes:
    return json.dumps({"n": n}).encode()


class _PgQueuer:
    def __init__(self) -> None:
        self._connection: asyncpg.Connection
        self._queries: Queries

    async def setup(self) -> None:
        await self.open()
        await self._queries.install()

    async def open(self) -> None:
        self._connection = await asyncpg.connect()
        self._queries = Queries(AsyncpgDriver(self._connection))

    async def enqueue(self, n: int) -> None:
        await self._queries.enqueue("noop", _payload(n))

    async def enqueue_many(self, numbers: list[int]) -> None:
        jobs = len(numbers)
        payloads = [_payload(n) for n in numbers]
        await self._queries.enqueue(["noop"] * jobs, payloads, [0] * jobs)

    async def pay(self, n: int | None) -> None:
        async with self._connection.transaction():
            await self._connection.execute(PAY)
            if n is not None:
                await self.enqueue(n)

    async def work(self, tally: Tally, ready: Callable[[], Awaitable[None]]) -> None:
        queue = PgQueuer(AsyncpgDriver(await asyncpg.connect()))

        @queue.entrypoint("noop")
        async def noop(job: Job) -> None:
            tally.begin(json.loads(job.payload)["n"])
            if tally.calls:
                await asyncio.sleep(CALL_SECONDS)

        await ready()
        running = asyncio.create_task(
            queue.run(
                batch_size=_BATCH,
                dequeue_timeout=timedelta(seconds=1),
                log_aggregation_interval=timedelta(0),
            )
        )
        stopping = asyncio.create_task(Stop().wait())
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        queue.shutdown.set()
        await running


if __name__ == "__main__":
    uvloop.run(drive(_PgQueuer(), sys.argv[1:]))
