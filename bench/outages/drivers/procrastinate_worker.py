"""Procrastinate, with the periodic task that its manual gives for stalled jobs."""

import asyncio
import logging

import procrastinate

from bench.outages.settings import AT_ONCE, BEAT_SECONDS, LEASE_SECONDS
from bench.outages.telling import end_of_input, handle_async, wait_for_go

app = procrastinate.App(
    # The connection is told by libpq's variables in the environment.
    connector=procrastinate.PsycopgConnector(
        conninfo="", min_size=1, max_size=AT_ONCE + 4
    )
)


@app.task(name="noop", queue="default")
async def _noop(n: int) -> None:
    await handle_async(n)


@app.periodic(cron="* * * * * *")
@app.task(name="retry_stalled", queueing_lock="retry_stalled", pass_context=True)
async def _retry_stalled(
    context: procrastinate.JobContext,
    timestamp: int,  # noqa: ARG001 - every periodic task is given one
) -> None:
    manager = context.app.job_manager
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=LEASE_SECONDS):
        await manager.retry_job(job)


async def _main() -> None:
    logging.disable(logging.INFO)
    wait_for_go()
    async with app.open_async():
        running = asyncio.create_task(
            app.run_worker_async(
                concurrency=AT_ONCE,
                install_signal_handlers=False,
                fetch_job_polling_interval=1.0,
                update_heartbeat_interval=BEAT_SECONDS,
                stalled_worker_timeout=LEASE_SECONDS,
                delete_jobs="never",
            )
        )
        stopping = asyncio.create_task(end_of_input())
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        running.cancel()  # its way to stop politely
        await asyncio.wait({running})


if __name__ == "__main__":
    asyncio.run(_main())
