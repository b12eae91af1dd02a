"""PgQueuer under its own supervisor, which starts it again when the database went."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import asyncpg
import pgqueuer
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job

from bench.outages.settings import AT_ONCE, LEASE_SECONDS, SUPERVISOR_SECONDS
from bench.outages.telling import end_of_input, handle_async, wait_for_go

_BATCH: Final = 10


@asynccontextmanager
async def _queue() -> AsyncGenerator[PgQueuer]:
    connection = await asyncpg.connect()
    queue = PgQueuer(AsyncpgDriver(connection))

    @queue.entrypoint("noop")
    async def noop(job: Job) -> None:
        await handle_async(json.loads(job.payload)["n"])

    try:
        yield queue
    finally:
        await connection.close()


async def _main() -> None:
    wait_for_go()
    shutdown = asyncio.Event()
    running = asyncio.create_task(
        pgqueuer.run(
            _queue,
            batch_size=_BATCH,
            max_concurrent_tasks=max(AT_ONCE, 2 * _BATCH),
            dequeue_timeout=timedelta(seconds=1),
            heartbeat_timeout=timedelta(seconds=LEASE_SECONDS),
            restart_on_failure=True,
            restart_delay=timedelta(seconds=SUPERVISOR_SECONDS),
            shutdown_on_listener_failure=True,
            shutdown=shutdown,
        )
    )
    stopping = asyncio.create_task(end_of_input())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    shutdown.set()
    await running


if __name__ == "__main__":
    uvloop.run(_main())
