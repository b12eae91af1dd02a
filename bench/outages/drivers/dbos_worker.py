"""DBOS: an executor that starts again recovers what had its name."""

import asyncio
import os
from typing import Final

from dbos import DBOS

from bench.outages.settings import AT_ONCE
from bench.outages.telling import end_of_input, handle, wait_for_go

_POLL_SECONDS: Final = 0.05


@DBOS.workflow(name="noop")
def _noop(n: int) -> None:
    handle(n)


async def _main() -> None:
    uri = os.environ["PEER_URI"].replace("postgresql://", "postgresql+psycopg://")
    DBOS(
        config={
            "name": "bench",
            "system_database_url": uri,
            "log_level": "ERROR",
            "application_version": "v1",
            # Kept over a restart: it is what recovery goes by.
            "executor_id": f"worker-{os.environ['BENCH_PLACE']}",
            "run_admin_server": False,
            "sys_db_pool_size": 20,
        }
    )
    wait_for_go()
    await asyncio.to_thread(_launch)
    await end_of_input()
    os._exit(0)  # its threads do not end


def _launch() -> None:
    DBOS.launch()
    DBOS.register_queue(
        "default", worker_concurrency=AT_ONCE, polling_interval_sec=_POLL_SECONDS
    )


if __name__ == "__main__":
    asyncio.run(_main())
