"""Procrastinate over a pool of psycopg."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import procrastinate
import psycopg

from bench.peers.contract import CALL_SECONDS, PAY, Stop, Tally, drive

_CONCURRENCY: Final = 50


class _Procrastinate:
    def __init__(self) -> None:
        logging.disable(logging.INFO)
        self._tally = Tally("noop")
        self._connection: psycopg.AsyncConnection
        # The connection is told by libpq's variables in the environment.
        connector = procrastinate.PsycopgConnector(
            conninfo="", min_size=1, max_size=_CONCURRENCY + 4
        )
        self._app = procrastinate.App(connector=connector)
        self._noop = self._app.task(name="noop", queue="default")(self._handle)

    async def _handle(self, n: int) -> None:
        self._tally.begin(n)
        if self._tally.calls:
            await asyncio.sleep(CALL_SECONDS)

    async def setup(self) -> None:
        async with self._app.open_async():
            await self._app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await self._app.open_async()
        self._connection = await psycopg.AsyncConnection.connect("", autocommit=True)

    async def enqueue(self, n: int) -> None:
        await self._noop.defer_async(n=n)

    async def enqueue_many(self, numbers: list[int]) -> None:
        await self._noop.batch_defer_async(*({"n": n} for n in numbers))

    async def pay(self, n: int | None) -> None:
        async with self._connection.transaction():
            await self._connection.execute(PAY)
            if n is not None:
                task = self._noop.configure(connection=self._connection)
                await task.defer_async(n=n)

    async def work(self, tally: Tally, ready: Callable[[], Awaitable[None]]) -> None:
        self._tally = tally
        async with self._app.open_async():
            await ready()
            running = asyncio.create_task(
                self._app.run_worker_async(
                    concurrency=_CONCURRENCY,
                    install_signal_handlers=False,
                    fetch_job_polling_interval=1.0,
                    delete_jobs="never",
                )
            )
            stopping = asyncio.create_task(Stop().wait())
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            running.cancel()  # its way to stop politely
            await asyncio.wait({running})


if __name__ == "__main__":
    asyncio.run(drive(_Procrastinate(), sys.argv[1:]))
